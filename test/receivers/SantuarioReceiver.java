import java.security.Key;
import java.security.MessageDigest;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.apache.xml.security.Init;
import org.apache.xml.security.encryption.EncryptedKey;
import org.apache.xml.security.encryption.XMLCipher;
import org.apache.xml.security.signature.Reference;
import org.apache.xml.security.signature.XMLSignature;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/** A processor which reads envelopes by the XML Signature and Encryption library alone, as one without WSS4J would. */
public final class SantuarioReceiver implements Wire.Opener {
  private static final String SKI_EXTENSION = "2.5.29.14";
  private final Wire.Keys keys;

  SantuarioReceiver(Wire.Keys keys) {
    this.keys = keys;
  }

  public static void main(String[] arguments) throws Exception {
    Init.init();
    Wire.serve(SantuarioReceiver::new);
  }

  @Override
  public List<String> open(List<String> message) throws Exception {
    Document document = Xml.parse(message.get(0));
    Instant at = message.get(1).isEmpty() ? Instant.now() : Instant.ofEpochMilli(Long.parseLong(message.get(1)));
    Xml.registerIds(document);
    List<String> actions = new ArrayList<>();
    List<Element> signed = new ArrayList<>();
    List<String> encrypted = new ArrayList<>();
    Element security = Xml.security(document);
    for (Node node = security.getFirstChild(); node != null; node = node.getNextSibling()) {
      if (!(node instanceof Element)) continue;
      Element element = (Element) node;
      boolean isKey = Xml.is(element, Xml.XENC, "EncryptedKey");
      actions.add(isKey ? "Encrypt" : element.getLocalName());
      if (isKey) encrypted.addAll(decryptAll(document, element));
      else if (Xml.is(element, Xml.DS, "Signature")) signed.addAll(verify(document, element));
    }
    requireSigned(document, signed);
    requireTime(Xml.at(security, Xml.WSU, "Timestamp"), at);
    require(encrypted.contains("Body"), "the Body is not encrypted");
    List<String> names = new ArrayList<>();
    for (Element element : signed) names.add(element.getLocalName());
    Element body = Xml.body(document);
    Element token = Xml.child(security, Xml.WSSE, "UsernameToken");
    return List.of(
        String.join(",", actions),
        String.join(",", names),
        String.join(",", encrypted),
        Xml.inner(body),
        Xml.canonicalInner(body),
        token == null ? "" : Xml.at(token, Xml.WSSE, "Username").getTextContent());
  }

  private List<String> decryptAll(Document document, Element encryptedKey) throws Exception {
    Element identifier = identifierOf(Xml.at(encryptedKey, Xml.DS, "KeyInfo"));
    requireIdentified(identifier, keys.processorCertificate);
    List<String> names = new ArrayList<>();
    Element references = Xml.at(encryptedKey, Xml.XENC, "ReferenceList");
    for (Node node = references.getFirstChild(); node != null; node = node.getNextSibling()) {
      if (!Xml.is(node, Xml.XENC, "DataReference")) continue;
      Element data = document.getElementById(((Element) node).getAttribute("URI").substring(1));
      require(Xml.is(data, Xml.XENC, "EncryptedData"), "no EncryptedData");
      names.add(decrypt(document, encryptedKey, data));
      Xml.registerIds(document);
    }
    return names;
  }

  /** Returns the name of what was encrypted, or whose content. */
  private String decrypt(Document document, Element encryptedKey, Element data) throws Exception {
    String algorithm = Xml.at(data, Xml.XENC, "EncryptionMethod").getAttribute("Algorithm");
    boolean content = data.getAttribute("Type").equals(Xml.XENC + "Content");
    Element parent = (Element) data.getParentNode();
    Node before = data.getPreviousSibling();
    XMLCipher opener = XMLCipher.getInstance();
    opener.init(XMLCipher.UNWRAP_MODE, keys.processorKey);
    EncryptedKey loaded = opener.loadEncryptedKey(document, encryptedKey);
    Key session = opener.decryptKey(loaded, algorithm);
    XMLCipher cipher = XMLCipher.getInstance(algorithm);
    cipher.init(XMLCipher.DECRYPT_MODE, session);
    cipher.doFinal(document, content ? parent : data, content);
    if (content) return parent.getLocalName();
    return (before == null ? parent.getFirstChild() : before.getNextSibling()).getLocalName();
  }

  private List<Element> verify(Document document, Element element) throws Exception {
    requireSigner(document, Xml.at(element, Xml.DS, "KeyInfo"));
    XMLSignature signature = new XMLSignature(element, "", true);
    require(signature.checkSignatureValue(keys.merchantCertificate), "the signature does not match");
    List<Element> covered = new ArrayList<>();
    for (int index = 0; index < signature.getSignedInfo().getLength(); index++) {
      Reference reference = signature.getSignedInfo().item(index);
      require(reference.getURI().startsWith("#"), "a reference elsewhere");
      require(reference.getTransforms().getLength() == 1, "transforms of a reference");
      covered.add(document.getElementById(reference.getURI().substring(1)));
    }
    return covered;
  }

  private void requireSigner(Document document, Element keyInfo) throws Exception {
    Element reference = Xml.at(keyInfo, Xml.WSSE, "SecurityTokenReference");
    Element direct = Xml.child(reference, Xml.WSSE, "Reference");
    if (direct == null) {
      requireIdentified(identifierOf(keyInfo), keys.merchantCertificate);
      return;
    }
    Element token = document.getElementById(direct.getAttribute("URI").substring(1));
    require(Xml.is(token, Xml.WSSE, "BinarySecurityToken"), "no BinarySecurityToken");
    byte[] der = Base64.getMimeDecoder().decode(token.getTextContent());
    require(Arrays.equals(der, keys.merchantCertificate.getEncoded()), "not the merchant's certificate");
  }

  private static Element identifierOf(Element keyInfo) {
    return Xml.at(keyInfo, Xml.WSSE, "SecurityTokenReference", "KeyIdentifier");
  }

  private static void requireIdentified(Element identifier, X509Certificate certificate) throws Exception {
    require(identifier.getAttribute("ValueType").endsWith("#X509SubjectKeyIdentifier"), "kind of key identifier");
    byte[] named = Base64.getMimeDecoder().decode(identifier.getTextContent());
    require(Arrays.equals(named, keyIdentifierOf(certificate)), "the identifier of another key");
  }

  /** The extension's if there is one, else RFC 5280's first method: SHA-1 of the bits of the key. */
  private static byte[] keyIdentifierOf(X509Certificate certificate) throws Exception {
    byte[] extension = certificate.getExtensionValue(SKI_EXTENSION);
    // Two OCTET STRINGs of short length around the value.
    if (extension != null) return Arrays.copyOfRange(extension, 4, extension.length);
    byte[] key = certificate.getPublicKey().getEncoded();
    // RSA's AlgorithmIdentifier and the headers around it are 24 bytes for every key of 2048 to 4096 bits.
    return MessageDigest.getInstance("SHA-1").digest(Arrays.copyOfRange(key, 24, key.length));
  }

  private static void requireSigned(Document document, List<Element> signed) {
    Element security = Xml.security(document);
    require(signed.contains(Xml.body(document)), "the Body is not signed");
    require(signed.contains(Xml.at(security, Xml.WSU, "Timestamp")), "the Timestamp is not signed");
    for (String name : new String[] {"BinarySecurityToken", "UsernameToken"}) {
      Element token = Xml.child(security, Xml.WSSE, name);
      require(token == null || signed.contains(token), "the " + name + " is not signed");
    }
  }

  private static void requireTime(Element timestamp, Instant at) {
    Instant created = Instant.parse(Xml.at(timestamp, Xml.WSU, "Created").getTextContent());
    Instant expires = Instant.parse(Xml.at(timestamp, Xml.WSU, "Expires").getTextContent());
    require(!created.isAfter(at.plusSeconds(60)) && expires.isAfter(at), "the message has expired");
  }

  private static void require(boolean holds, String otherwise) {
    if (!holds) throw new SecurityException(otherwise);
  }
}
