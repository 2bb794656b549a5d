import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The protocol between receivers and their test: lines of tab separated base64 fields. A line starts with the number of
 * the receiver. Its first line contains its keys, every further one a message; each has a response of one line, "ok"
 * with fields or "no" with the reason.
 */
final class Wire {
  interface Opener {
    List<String> open(List<String> message) throws Exception;
  }

  interface Maker {
    Opener make(Keys keys) throws Exception;
  }

  /** The keys of a receiver: its own key, and its knowledge of the merchant. */
  static final class Keys {
    final PrivateKey processorKey;
    final X509Certificate processorCertificate;
    final X509Certificate merchantCertificate;
    final PublicKey merchantKey;
    final Map<String, String> users = new HashMap<>();
    final boolean refusesReplays;

    Keys(List<String> fields) throws Exception {
      processorKey = privateKey(fields.get(0));
      processorCertificate = certificate(fields.get(1));
      merchantCertificate = certificate(fields.get(2));
      merchantKey = publicKey(fields.get(3));
      for (String line : fields.get(4).split("\n")) {
        String[] pair = line.split("\t", 2);
        if (pair.length == 2) users.put(pair[0], pair[1]);
      }
      refusesReplays = fields.get(5).equals("refuse-replays");
    }
  }

  private Wire() {}

  static void serve(Maker maker) throws Exception {
    // Output of libraries must not mix with the responses.
    PrintStream answers = System.out;
    System.setOut(System.err);
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII), 1 << 16);
    Map<String, Opener> openers = new HashMap<>();
    for (String line = requests.readLine(); line != null; line = requests.readLine()) {
      List<String> fields = decode(line);
      String number = fields.remove(0);
      if (openers.containsKey(number)) {
        answers.print(answer(openers.get(number), fields) + "\n");
      } else {
        openers.put(number, maker.make(new Keys(fields)));
        answers.print("ok\n");
      }
      answers.flush();
    }
  }

  private static String answer(Opener opener, List<String> message) {
    try {
      return "ok\t" + encode(opener.open(message));
    } catch (Throwable failure) {
      return "no\t" + encode(List.of(describe(failure)));
    }
  }

  private static String describe(Throwable failure) {
    StringBuilder text = new StringBuilder();
    for (Throwable each = failure; each != null; each = each.getCause()) {
      if (text.length() > 0) text.append(" <- ");
      text.append(each.getClass().getSimpleName()).append(": ").append(each.getMessage());
    }
    return text.toString();
  }

  private static List<String> decode(String line) {
    List<String> fields = new ArrayList<>();
    for (String field : line.split("\t", -1)) {
      fields.add(new String(Base64.getDecoder().decode(field), StandardCharsets.UTF_8));
    }
    return fields;
  }

  private static String encode(List<String> fields) {
    List<String> encoded = new ArrayList<>();
    for (String field : fields) {
      encoded.add(Base64.getEncoder().encodeToString(field.getBytes(StandardCharsets.UTF_8)));
    }
    return String.join("\t", encoded);
  }

  static byte[] der(String pem) {
    // Text around the block is allowed, and is no part of it.
    return Base64.getMimeDecoder().decode(pem.replaceAll("(?s)^.*-----BEGIN [^-]+-----|-----END [^-]+-----.*$", ""));
  }

  static PrivateKey privateKey(String pem) throws Exception {
    return KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(der(pem)));
  }

  static PublicKey publicKey(String pem) throws Exception {
    return KeyFactory.getInstance("RSA").generatePublic(new X509EncodedKeySpec(der(pem)));
  }

  static X509Certificate certificate(String pem) throws Exception {
    if (pem.isEmpty()) return null;
    return (X509Certificate)
        CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(der(pem)));
  }
}
