import java.util.ArrayList;
import java.util.List;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import javax.crypto.spec.SecretKeySpec;
import javax.xml.crypto.dsig.Reference;
import org.apache.ws.security.WSConstants;
import org.apache.ws.security.WSEncryptionPart;
import org.apache.ws.security.WSSConfig;
import org.apache.ws.security.components.crypto.Merlin;
import org.apache.ws.security.message.WSSecEncrypt;
import org.apache.ws.security.message.WSSecHeader;
import org.apache.ws.security.message.WSSecSignature;
import org.apache.ws.security.message.WSSecTimestamp;
import org.apache.ws.security.message.WSSecUsernameToken;
import org.apache.xml.security.c14n.Canonicalizer;
import org.apache.xml.security.encryption.EncryptedKey;
import org.apache.xml.security.encryption.XMLCipher;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/**
 * A merchant who seals by WSS4J: what receivers are tried with that did not come from our own code. A message is an
 * envelope, the order, the block cipher, the key transport, the digest, the signer's reference and the user's token.
 */
public final class Wss4jSender implements Wire.Opener {
  private static final String PASSWORD = "of the key store";
  private static final String ENC11 = "http://www.w3.org/2009/xmlenc11#";
  private final Wire.Keys keys;
  private final Merlin crypto = new Merlin();

  Wss4jSender(Wire.Keys keys) throws Exception {
    this.keys = keys;
    // The keys change places: the private key of a sender is the merchant's.
    KeyStore own = KeyStore.getInstance("PKCS12");
    own.load(null, null);
    own.setKeyEntry(
        "merchant", keys.processorKey, PASSWORD.toCharArray(), new Certificate[] {keys.processorCertificate});
    own.setCertificateEntry("processor", keys.merchantCertificate);
    crypto.setKeyStore(own);
  }

  public static void main(String[] arguments) throws Exception {
    WSSConfig.init();
    Wire.serve(Wss4jSender::new);
  }

  @Override
  public List<String> open(List<String> message) throws Exception {
    Document document = Xml.parse(message.get(0));
    WSSecHeader header = new WSSecHeader();
    header.insertSecurityHeader(document);
    new WSSecTimestamp().build(document, header);
    if (!message.get(6).isEmpty()) addUser(document, header, message.get(6));
    WSSecEncrypt encrypt = encryptionOf(message.get(2), message.get(3));
    if (message.get(1).equals("sign-then-encrypt")) {
      sign(document, header, message.get(4), message.get(5));
      encrypt.setParts(
          List.of(
              new WSEncryptionPart("Signature", Xml.DS, "Element"),
              new WSEncryptionPart("Body", Xml.SOAP, "Content")));
      encrypt.build(document, crypto, header);
    } else {
      encrypt.build(document, crypto, header);
      if (message.get(3).equals("oaep-sha256")) replaceKey(document, encrypt.getSymmetricKey().getEncoded());
      sign(document, header, message.get(4), message.get(5));
    }
    byte[] canonical = Canonicalizer.getInstance(Canonicalizer.ALGO_ID_C14N_WITH_COMMENTS).canonicalizeSubtree(document);
    return List.of(new String(canonical, "UTF-8"));
  }

  private void addUser(Document document, WSSecHeader header, String kind) throws Exception {
    WSSecUsernameToken token = new WSSecUsernameToken();
    String user = keys.users.keySet().iterator().next();
    token.setPasswordType(kind.equals("digest") ? WSConstants.PASSWORD_DIGEST : WSConstants.PASSWORD_TEXT);
    token.setUserInfo(user, keys.users.get(user));
    if (kind.equals("text")) {
      token.addNonce();
      token.addCreated();
    }
    token.build(document, header);
  }

  private WSSecEncrypt encryptionOf(String cipher, String transport) {
    WSSecEncrypt encrypt = new WSSecEncrypt();
    encrypt.setUserInfo("processor");
    encrypt.setKeyIdentifierType(WSConstants.SKI_KEY_IDENTIFIER);
    encrypt.setSymmetricEncAlgorithm(cipher.equals("gcm") ? WSConstants.AES_256_GCM : WSConstants.AES_256);
    encrypt.setKeyEnc(transport.equals("rsa-1_5") ? WSConstants.KEYTRANSPORT_RSA15 : WSConstants.KEYTRANSPORT_RSAOEP);
    return encrypt;
  }

  private void sign(Document document, WSSecHeader header, String digest, String reference) throws Exception {
    WSSecSignature signature = new WSSecSignature();
    signature.setUserInfo("merchant", PASSWORD);
    boolean direct = reference.equals("token");
    signature.setKeyIdentifierType(direct ? WSConstants.BST_DIRECT_REFERENCE : WSConstants.SKI_KEY_IDENTIFIER);
    boolean long512 = digest.equals("sha512");
    signature.setSignatureAlgorithm("http://www.w3.org/2001/04/xmldsig-more#rsa-" + digest);
    signature.setDigestAlgo(Xml.XENC + (long512 ? "sha512" : "sha256"));
    signature.prepare(document, crypto, header);
    List<WSEncryptionPart> parts = new ArrayList<>();
    parts.add(new WSEncryptionPart("Timestamp", Xml.WSU, ""));
    parts.add(new WSEncryptionPart("Body", Xml.SOAP, ""));
    Element security = header.getSecurityHeader();
    if (Xml.child(security, Xml.WSSE, "UsernameToken") != null) {
      parts.add(new WSEncryptionPart("UsernameToken", Xml.WSSE, ""));
    }
    Element before = Xml.child(security, Xml.XENC, "EncryptedKey");
    if (direct) {
      signature.prependBSTElementToHeader(header);
      parts.add(new WSEncryptionPart(signature.getBSTTokenId()));
    }
    List<Reference> references = signature.addReferencesToSign(parts, header);
    signature.computeSignature(references, before != null, before);
  }

  /** WSS4J 1.6 wraps keys with SHA-1 alone: the library beneath it knows SHA-256. The key itself is not signed. */
  private void replaceKey(Document document, byte[] session) throws Exception {
    X509Certificate recipient = keys.merchantCertificate;
    XMLCipher cipher = XMLCipher.getInstance(XMLCipher.RSA_OAEP_11, null, Xml.XENC + "sha256");
    cipher.init(XMLCipher.WRAP_MODE, recipient.getPublicKey());
    EncryptedKey wrapped =
        cipher.encryptKey(document, new SecretKeySpec(session, "AES"), ENC11 + "mgf1sha256", null);
    Element fresh = cipher.martial(document, wrapped);
    Element key = Xml.at(Xml.security(document), Xml.XENC, "EncryptedKey");
    for (String name : new String[] {"EncryptionMethod", "CipherData"}) {
      key.replaceChild(Xml.at(fresh, Xml.XENC, name), Xml.at(key, Xml.XENC, name));
    }
  }
}
