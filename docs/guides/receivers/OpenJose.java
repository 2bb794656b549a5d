// java OpenJose.java RESPONSE PROCESSOR_PRIVATE_KEY MERCHANT_PUBLIC_KEY
// Opens a response of POST /proxy/jose and prints the payload. Needs a JDK (17 or newer) and nothing else.
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.MGF1ParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.OAEPParameterSpec;
import javax.crypto.spec.PSource;
import javax.crypto.spec.SecretKeySpec;

/** Accepts the algorithms agreed with the merchant alone: RS256, RSA-OAEP-256 and A256GCM. */
public class OpenJose {
  public static void main(String[] files) throws Exception {
    String response = Files.readString(Path.of(files[0]));
    String value = member(response, "value");
    String encryption = member(response, "encryption");
    KeyFactory rsa = KeyFactory.getInstance("RSA");
    PrivateKey processor = rsa.generatePrivate(new PKCS8EncodedKeySpec(der(files[1])));
    PublicKey merchant = rsa.generatePublic(new X509EncodedKeySpec(der(files[2])));

    // 1. Verify the merchant's signature. It is over the ciphertext: nothing is decrypted before it was verified.
    if (!text(verify(encryption, merchant)).equals(value)) throw new SecurityException("signed is another value");

    // 2. Decrypt.
    byte[] plaintext = decrypt(value, processor);

    // 3. Verify the signature over the payload itself. With jose.payload=plain there is none: the plaintext is the payload.
    System.out.write(verify(text(plaintext), merchant));
    System.out.flush();
  }

  /** RFC 7515: header, payload, signature. */
  static byte[] verify(String jws, PublicKey key) throws Exception {
    String[] parts = parts(jws, 3);
    requireHeader(parts[0], "\"alg\":\"RS256\"");
    Signature signature = Signature.getInstance("SHA256withRSA");
    signature.initVerify(key);
    signature.update((parts[0] + "." + parts[1]).getBytes(StandardCharsets.US_ASCII));
    if (!signature.verify(bytes(parts[2]))) throw new SecurityException("the signature does not hold");
    return bytes(parts[1]);
  }

  /** RFC 7516: header, encrypted key, initialization vector, ciphertext, tag. */
  static byte[] decrypt(String jwe, PrivateKey key) throws Exception {
    String[] parts = parts(jwe, 5);
    requireHeader(parts[0], "\"alg\":\"RSA-OAEP-256\"");
    requireHeader(parts[0], "\"enc\":\"A256GCM\"");
    Cipher oaep = Cipher.getInstance("RSA/ECB/OAEPPadding");
    oaep.init(
        Cipher.DECRYPT_MODE,
        key,
        new OAEPParameterSpec("SHA-256", "MGF1", MGF1ParameterSpec.SHA256, PSource.PSpecified.DEFAULT));
    byte[] contentKey = oaep.doFinal(bytes(parts[1]));
    byte[] tag = bytes(parts[4]);
    if (contentKey.length != 32 || tag.length != 16) throw new SecurityException("another size");
    Cipher gcm = Cipher.getInstance("AES/GCM/NoPadding");
    gcm.init(
        Cipher.DECRYPT_MODE, new SecretKeySpec(contentKey, "AES"), new GCMParameterSpec(128, bytes(parts[2])));
    gcm.updateAAD(parts[0].getBytes(StandardCharsets.US_ASCII));
    ByteArrayOutputStream sealed = new ByteArrayOutputStream();
    sealed.write(bytes(parts[3]));
    sealed.write(tag);
    return gcm.doFinal(sealed.toByteArray());
  }

  /** Headers are flat and without blanks. Critical extensions are rejected. */
  static void requireHeader(String part, String member) {
    String header = text(bytes(part));
    if (!header.contains(member) || header.contains("\"crit\"")) throw new SecurityException("header " + header);
  }

  static String[] parts(String compact, int count) {
    String[] parts = compact.split("\\.", -1);
    if (parts.length != count) throw new SecurityException("not " + count + " parts");
    return parts;
  }

  static byte[] bytes(String part) {
    return Base64.getUrlDecoder().decode(part);
  }

  static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** Compact serializations contain nothing that JSON would escape. */
  static String member(String json, String name) {
    Matcher found = Pattern.compile("\"" + name + "\":\"([A-Za-z0-9_.-]+)\"").matcher(json);
    if (!found.find()) throw new IllegalArgumentException("no " + name);
    return found.group(1);
  }

  static byte[] der(String file) throws Exception {
    return Base64.getDecoder().decode(Files.readString(Path.of(file)).replaceAll("-----[^-]+-----|\\s", ""));
  }
}
