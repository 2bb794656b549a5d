import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.Signature;
import java.security.interfaces.RSAPrivateCrtKey;
import java.security.interfaces.RSAPublicKey;
import java.security.spec.MGF1ParameterSpec;
import java.security.spec.PSSParameterSpec;
import java.security.spec.RSAPublicKeySpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.OAEPParameterSpec;
import javax.crypto.spec.PSource;
import javax.crypto.spec.SecretKeySpec;

/** A processor which opens JOSE with nothing but the JDK. */
public final class JoseReceiver implements Wire.Opener {
  private final Wire.Keys keys;
  private final String processorThumbprint;
  private final String merchantThumbprint;

  JoseReceiver(Wire.Keys keys) throws GeneralSecurityException {
    this.keys = keys;
    RSAPrivateCrtKey own = (RSAPrivateCrtKey) keys.processorKey;
    processorThumbprint =
        thumbprint(
            KeyFactory.getInstance("RSA")
                .generatePublic(new RSAPublicKeySpec(own.getModulus(), own.getPublicExponent())));
    merchantThumbprint = thumbprint(keys.merchantKey);
  }

  public static void main(String[] arguments) throws Exception {
    Wire.serve(JoseReceiver::new);
  }

  @Override
  public List<String> open(List<String> message) throws Exception {
    String value = message.get(0);
    String encryption = message.get(1);
    boolean plain = message.get(2).equals("plain");
    String encryptionHeader = "";
    if (!encryption.isEmpty()) {
      Verified outer = verify(encryption);
      require(outer.payload.equals(value), "encryption is of another value");
      encryptionHeader = outer.header;
    }
    String[] parts = split(value, 5);
    String header = text(parts[0]);
    String plaintext = new String(decrypt(header, parts), StandardCharsets.UTF_8);
    require("JWT".equals(member(header, "cty")) != plain, "cty does not fit what is inside");
    Verified inner = plain ? new Verified("", plaintext) : verify(plaintext);
    return List.of(inner.payload, header, inner.header, encryptionHeader);
  }

  private record Verified(String header, String payload) {}

  private byte[] decrypt(String header, String[] parts) throws Exception {
    require(processorThumbprint.equals(member(header, "kid")), "kid of another key");
    byte[] key = unwrap(member(header, "alg"), bytes(parts[1]));
    byte[] associated = parts[0].getBytes(StandardCharsets.US_ASCII);
    byte[] iv = bytes(parts[2]);
    byte[] ciphertext = bytes(parts[3]);
    byte[] tag = bytes(parts[4]);
    String algorithm = String.valueOf(member(header, "enc"));
    switch (algorithm) {
      case "A128GCM":
        return openGcm(key, 16, iv, associated, ciphertext, tag);
      case "A256GCM":
        return openGcm(key, 32, iv, associated, ciphertext, tag);
      case "A128CBC-HS256":
        return openCbc(key, 16, "HmacSHA256", iv, associated, ciphertext, tag);
      case "A256CBC-HS512":
        return openCbc(key, 32, "HmacSHA512", iv, associated, ciphertext, tag);
      default:
        throw new SecurityException("enc " + algorithm);
    }
  }

  private byte[] unwrap(String algorithm, byte[] wrapped) throws GeneralSecurityException {
    String hash = "RSA-OAEP".equals(algorithm) ? "SHA-1" : "SHA-256";
    require("RSA-OAEP".equals(algorithm) || "RSA-OAEP-256".equals(algorithm), "alg " + algorithm);
    Cipher cipher = Cipher.getInstance("RSA/ECB/OAEPPadding");
    OAEPParameterSpec parameters =
        new OAEPParameterSpec(hash, "MGF1", new MGF1ParameterSpec(hash), PSource.PSpecified.DEFAULT);
    cipher.init(Cipher.DECRYPT_MODE, keys.processorKey, parameters);
    return cipher.doFinal(wrapped);
  }

  private static byte[] openGcm(byte[] key, int size, byte[] iv, byte[] associated, byte[] ciphertext, byte[] tag)
      throws GeneralSecurityException {
    require(key.length == size && iv.length == 12 && tag.length == 16, "sizes");
    Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
    cipher.init(Cipher.DECRYPT_MODE, new SecretKeySpec(key, "AES"), new GCMParameterSpec(128, iv));
    cipher.updateAAD(associated);
    return cipher.doFinal(ByteBuffer.allocate(ciphertext.length + 16).put(ciphertext).put(tag).array());
  }

  /** RFC 7518, 5.2: the first half of the key is the MAC's, the second the cipher's. */
  private static byte[] openCbc(
      byte[] key, int half, String hash, byte[] iv, byte[] associated, byte[] ciphertext, byte[] tag)
      throws GeneralSecurityException {
    require(key.length == 2 * half && iv.length == 16 && tag.length == half, "sizes");
    Mac mac = Mac.getInstance(hash);
    mac.init(new SecretKeySpec(key, 0, half, hash));
    mac.update(associated);
    mac.update(iv);
    mac.update(ciphertext);
    mac.update(ByteBuffer.allocate(8).putLong(8L * associated.length).array());
    require(MessageDigest.isEqual(Arrays.copyOf(mac.doFinal(), half), tag), "the tag does not match");
    Cipher cipher = Cipher.getInstance("AES/CBC/PKCS5Padding");
    cipher.init(Cipher.DECRYPT_MODE, new SecretKeySpec(key, half, half, "AES"), new IvParameterSpec(iv));
    return cipher.doFinal(ciphertext);
  }

  private Verified verify(String jws) throws GeneralSecurityException {
    String[] parts = split(jws, 3);
    String header = text(parts[0]);
    require(merchantThumbprint.equals(member(header, "kid")), "kid of another key");
    require("JWT".equals(member(header, "typ")), "typ");
    Signature verifier = verifierOf(String.valueOf(member(header, "alg")));
    verifier.initVerify(keys.merchantKey);
    verifier.update((parts[0] + "." + parts[1]).getBytes(StandardCharsets.US_ASCII));
    require(verifier.verify(bytes(parts[2])), "the signature does not match");
    return new Verified(header, text(parts[1]));
  }

  private static Signature verifierOf(String algorithm) throws GeneralSecurityException {
    require(algorithm.matches("[RP]S(256|384|512)"), "alg " + algorithm);
    String bits = algorithm.substring(2);
    if (algorithm.startsWith("RS")) return Signature.getInstance("SHA" + bits + "withRSA");
    Signature verifier = Signature.getInstance("RSASSA-PSS");
    MGF1ParameterSpec mask = new MGF1ParameterSpec("SHA-" + bits);
    verifier.setParameter(new PSSParameterSpec("SHA-" + bits, "MGF1", mask, Integer.parseInt(bits) / 8, 1));
    return verifier;
  }

  /** RFC 7638. */
  private static String thumbprint(PublicKey key) throws GeneralSecurityException {
    RSAPublicKey rsa = (RSAPublicKey) key;
    String json =
        "{\"e\":\"" + number(rsa.getPublicExponent()) + "\",\"kty\":\"RSA\",\"n\":\"" + number(rsa.getModulus()) + "\"}";
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(json.getBytes(StandardCharsets.US_ASCII));
    return Base64.getUrlEncoder().withoutPadding().encodeToString(digest);
  }

  private static String number(BigInteger value) {
    byte[] signed = value.toByteArray();
    byte[] unsigned = signed[0] == 0 ? Arrays.copyOfRange(signed, 1, signed.length) : signed;
    return Base64.getUrlEncoder().withoutPadding().encodeToString(unsigned);
  }

  private static String[] split(String compact, int count) {
    String[] parts = compact.split("\\.", -1);
    require(parts.length == count, parts.length + " parts");
    return parts;
  }

  /** Strict: neither padding nor other characters. */
  private static byte[] bytes(String part) {
    require(part.matches("[A-Za-z0-9_-]*"), "base64url");
    return Base64.getUrlDecoder().decode(part);
  }

  private static String text(String part) {
    return new String(bytes(part), StandardCharsets.UTF_8);
  }

  /** Headers are flat objects of numbers and of strings without escapes: whatever else is there is refused. */
  private static String member(String json, String name) {
    require(json.matches("\\{(\"[A-Za-z0-9#_]+\":(\"[^\"\\\\]*\"|[0-9]+),?)+\\}"), "header " + json);
    Matcher found = Pattern.compile("\"" + name + "\":\"([^\"\\\\]*)\"").matcher(json);
    return found.find() ? found.group(1) : null;
  }

  private static void require(boolean holds, String otherwise) {
    if (!holds) throw new SecurityException(otherwise);
  }
}
