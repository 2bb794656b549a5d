import java.io.StringReader;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerConfigurationException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.apache.xml.security.c14n.Canonicalizer;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.xml.sax.InputSource;

/** Envelopes as DOM trees. */
final class Xml {
  static final String SOAP = "http://schemas.xmlsoap.org/soap/envelope/";
  static final String WSSE = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
  static final String WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
  static final String DS = "http://www.w3.org/2000/09/xmldsig#";
  static final String XENC = "http://www.w3.org/2001/04/xmlenc#";

  // Looked up once: finding these costs more than their work.
  private static final DocumentBuilder PARSER = parser();
  private static final Transformer WRITER = writer();

  private Xml() {}

  private static DocumentBuilder parser() {
    try {
      DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
      factory.setNamespaceAware(true);
      factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
      DocumentBuilder parser = factory.newDocumentBuilder();
      parser.setErrorHandler(null);
      return parser;
    } catch (ParserConfigurationException error) {
      throw new IllegalStateException(error);
    }
  }

  private static Transformer writer() {
    try {
      Transformer writer = TransformerFactory.newInstance().newTransformer();
      writer.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "yes");
      return writer;
    } catch (TransformerConfigurationException error) {
      throw new IllegalStateException(error);
    }
  }

  static Document parse(String text) throws Exception {
    return PARSER.parse(new InputSource(new StringReader(text)));
  }

  static boolean is(Node node, String namespace, String name) {
    return node instanceof Element && namespace.equals(node.getNamespaceURI()) && name.equals(node.getLocalName());
  }

  /** The one child of this name; null when there is none. */
  static Element child(Node parent, String namespace, String name) {
    Element found = null;
    for (Node node = parent.getFirstChild(); node != null; node = node.getNextSibling()) {
      if (!is(node, namespace, name)) continue;
      if (found != null) throw new IllegalArgumentException("two of " + name);
      found = (Element) node;
    }
    return found;
  }

  /** The element at the end of a path of children of one namespace, which must be there. */
  static Element at(Node start, String namespace, String... names) {
    Node node = start;
    for (String name : names) {
      node = child(node, namespace, name);
      if (node == null) throw new IllegalArgumentException("no " + name);
    }
    return (Element) node;
  }

  static Element body(Document document) {
    if (!is(document.getDocumentElement(), SOAP, "Envelope")) throw new IllegalArgumentException("no Envelope");
    return at(document.getDocumentElement(), SOAP, "Body");
  }

  static Element security(Document document) {
    Element header = at(document.getDocumentElement(), SOAP, "Header");
    Element security = at(header, WSSE, "Security");
    if (!security.getAttributeNS(SOAP, "mustUnderstand").equals("1")) {
      throw new IllegalArgumentException("the Security header need not be understood");
    }
    return security;
  }

  /** Makes Id attributes ids, afresh after each decryption; two of the same value are an attack. */
  static void registerIds(Document document) {
    registerIds(document.getDocumentElement(), new HashSet<>());
  }

  private static void registerIds(Element element, Set<String> seen) {
    for (String namespace : new String[] {null, WSU}) {
      if (!element.hasAttributeNS(namespace, "Id")) continue;
      if (!seen.add(element.getAttributeNS(namespace, "Id"))) throw new IllegalArgumentException("an Id twice");
      element.setIdAttributeNS(namespace, "Id", true);
    }
    for (Node node = element.getFirstChild(); node != null; node = node.getNextSibling()) {
      if (node instanceof Element) registerIds((Element) node, seen);
    }
  }

  /** The content of an element, as an ordinary serializer writes it. */
  static String inner(Element element) throws Exception {
    StringWriter out = new StringWriter();
    for (Node node = element.getFirstChild(); node != null; node = node.getNextSibling()) {
      WRITER.transform(new DOMSource(node), new StreamResult(out));
    }
    return out.toString();
  }

  /** The content of an element, each node in exclusive canonical form. */
  static String canonicalInner(Element element) throws Exception {
    StringBuilder out = new StringBuilder();
    for (Node node = element.getFirstChild(); node != null; node = node.getNextSibling()) {
      Canonicalizer canonicalizer = Canonicalizer.getInstance(Canonicalizer.ALGO_ID_C14N_EXCL_OMIT_COMMENTS);
      out.append(new String(canonicalizer.canonicalizeSubtree(node), StandardCharsets.UTF_8));
    }
    return out.toString();
  }
}
