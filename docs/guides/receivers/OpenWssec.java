// java -cp JARS OpenWssec.java ENVELOPE PROCESSOR_PRIVATE_KEY PROCESSOR_CERTIFICATE MERCHANT_CERTIFICATE
// Opens an envelope of POST /proxy/wssec (default settings) and prints the payload. Needs WSS4J 1.6.
import java.io.ByteArrayInputStream;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.security.auth.callback.Callback;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.apache.ws.security.WSConstants;
import org.apache.ws.security.WSDataRef;
import org.apache.ws.security.WSPasswordCallback;
import org.apache.ws.security.WSSConfig;
import org.apache.ws.security.WSSecurityEngine;
import org.apache.ws.security.WSSecurityEngineResult;
import org.apache.ws.security.components.crypto.AlgorithmSuite;
import org.apache.ws.security.components.crypto.Merlin;
import org.apache.ws.security.handler.RequestData;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

public class OpenWssec {
  static final String SECRET = "of the key store in memory";

  public static void main(String[] files) throws Exception {
    X509Certificate merchant = certificate(files[3]);
    merchant.checkValidity();
    Document document = parse(files[0]);
    Element envelope = document.getDocumentElement();
    Element security = only(only(envelope, WSConstants.URI_SOAP11_ENV, "Header"), WSConstants.WSSE_NS, "Security");
    Element body = only(envelope, WSConstants.URI_SOAP11_ENV, "Body");

    // 1. WSS4J verifies the signature, checks the Timestamp, and decrypts, in the order of the header.
    RequestData request = new RequestData();
    request.setWssConfig(WSSConfig.getNewInstance());
    request.setSigCrypto(keys(files[1], files[2], merchant));
    request.setDecCrypto(request.getSigCrypto());
    request.setAlgorithmSuite(agreed());
    request.setCallbackHandler(
        callbacks -> {
          for (Callback each : callbacks) ((WSPasswordCallback) each).setPassword(SECRET);
        });
    List<WSSecurityEngineResult> results = new WSSecurityEngine().processSecurityHeader(security, request);

    // 2. Check what the signature covers and who signed: the very elements that are used here, and the certificate of
    // the merchant. A signature that WSS4J accepts may be over other elements, or by another signer.
    List<Element> signed = new ArrayList<>();
    List<Element> encrypted = new ArrayList<>();
    for (WSSecurityEngineResult result : results) {
      int action = (Integer) result.get(WSSecurityEngineResult.TAG_ACTION);
      Object signer = result.get(WSSecurityEngineResult.TAG_X509_CERTIFICATE);
      if (action == WSConstants.SIGN && merchant.equals(signer)) signed.addAll(elementsOf(result));
      if (action == WSConstants.ENCR) encrypted.addAll(elementsOf(result));
    }
    require(signed.contains(body), "the Body is not signed by the merchant");
    require(signed.contains(only(security, WSConstants.WSU_NS, "Timestamp")), "the Timestamp is not signed");
    require(encrypted.contains(body), "the Body was not encrypted");

    // 3. Store accepted signatures until they expire, and accept none twice.
    Transformer writer = TransformerFactory.newInstance().newTransformer();
    writer.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "yes");
    StringWriter payload = new StringWriter();
    for (Node node = body.getFirstChild(); node != null; node = node.getNextSibling()) {
      writer.transform(new DOMSource(node), new StreamResult(payload));
    }
    System.out.write(payload.toString().getBytes(StandardCharsets.UTF_8));
    System.out.flush();
  }

  /** The algorithms agreed with the merchant. No other is accepted, whatever an envelope names. */
  static AlgorithmSuite agreed() {
    AlgorithmSuite suite = new AlgorithmSuite();
    suite.addSignatureMethod("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256");
    suite.addC14nAlgorithm(WSConstants.C14N_EXCL_OMIT_COMMENTS);
    suite.addTransformAlgorithm(WSConstants.C14N_EXCL_OMIT_COMMENTS);
    suite.addDigestAlgorithm("http://www.w3.org/2001/04/xmlenc#sha256");
    suite.addKeyWrapAlgorithm(WSConstants.KEYTRANSPORT_RSAOEP);
    suite.addEncryptionMethod(WSConstants.AES_256_GCM);
    return suite;
  }

  static Merlin keys(String privateKey, String certificate, X509Certificate merchant) throws Exception {
    PrivateKey key = KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(der(privateKey)));
    KeyStore own = KeyStore.getInstance("PKCS12");
    own.load(null, null);
    own.setKeyEntry("processor", key, SECRET.toCharArray(), new Certificate[] {certificate(certificate)});
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry("merchant", merchant);
    Merlin crypto = new Merlin();
    crypto.setKeyStore(own);
    crypto.setTrustStore(trusted);
    return crypto;
  }

  static List<Element> elementsOf(WSSecurityEngineResult result) {
    List<Element> elements = new ArrayList<>();
    List<?> references = (List<?>) result.get(WSSecurityEngineResult.TAG_DATA_REF_URIS);
    if (references != null) for (Object each : references) elements.add(((WSDataRef) each).getProtectedElement());
    return elements;
  }

  static Document parse(String file) throws Exception {
    DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
    factory.setNamespaceAware(true);
    factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
    return factory.newDocumentBuilder().parse(Path.of(file).toFile());
  }

  /** The only child of a name; two are rejected. */
  static Element only(Element parent, String namespace, String name) {
    List<Element> found = new ArrayList<>();
    for (Node node = parent.getFirstChild(); node != null; node = node.getNextSibling()) {
      boolean fits = namespace.equals(node.getNamespaceURI()) && name.equals(node.getLocalName());
      if (fits && node instanceof Element) found.add((Element) node);
    }
    require(found.size() == 1, found.size() + " of " + name);
    return found.get(0);
  }

  static X509Certificate certificate(String file) throws Exception {
    byte[] pem = Files.readAllBytes(Path.of(file));
    return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(pem));
  }

  static byte[] der(String file) throws Exception {
    return Base64.getDecoder().decode(Files.readString(Path.of(file)).replaceAll("-----[^-]+-----|\\s", ""));
  }

  static void require(boolean holds, String otherwise) {
    if (!holds) throw new SecurityException(otherwise);
  }
}
