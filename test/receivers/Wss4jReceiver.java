import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;
import org.apache.ws.security.WSConstants;
import org.apache.ws.security.WSDataRef;
import org.apache.ws.security.WSPasswordCallback;
import org.apache.ws.security.WSSConfig;
import org.apache.ws.security.WSSecurityEngine;
import org.apache.ws.security.WSSecurityEngineResult;
import org.apache.ws.security.cache.MemoryReplayCache;
import org.apache.ws.security.cache.ReplayCache;
import org.apache.ws.security.components.crypto.Merlin;
import org.apache.ws.security.handler.RequestData;
import org.apache.ws.security.message.token.Timestamp;
import org.apache.ws.security.message.token.UsernameToken;
import org.apache.ws.security.util.WSSecurityUtil;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** A processor which reads envelopes by WSS4J 1.6, Basic Security Profile enforced. */
public final class Wss4jReceiver implements Wire.Opener {
  private static final String PASSWORD = "of the key store";
  private static final long CLOCK_SKEW_MS = 60_000;
  private static final Map<Integer, String> ACTIONS =
      Map.of(
          WSConstants.UT, "UsernameToken",
          WSConstants.SIGN, "Signature",
          WSConstants.ENCR, "Encrypt",
          WSConstants.TS, "Timestamp",
          WSConstants.BST, "BinarySecurityToken");

  private final Merlin crypto = new Merlin();
  private final CallbackHandler passwords;
  private final ReplayCache nonces;
  private final ReplayCache timestamps;

  Wss4jReceiver(Wire.Keys keys) throws Exception {
    KeyStore own = KeyStore.getInstance("PKCS12");
    own.load(null, null);
    own.setKeyEntry(
        "processor", keys.processorKey, PASSWORD.toCharArray(), new Certificate[] {keys.processorCertificate});
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry("merchant", keys.merchantCertificate);
    crypto.setKeyStore(own);
    crypto.setTrustStore(trusted);
    nonces = keys.refusesReplays ? new MemoryReplayCache() : null;
    timestamps = keys.refusesReplays ? new MemoryReplayCache() : null;
    passwords =
        callbacks -> {
          for (Callback each : callbacks) {
            WSPasswordCallback asked = (WSPasswordCallback) each;
            boolean user = asked.getUsage() == WSPasswordCallback.USERNAME_TOKEN;
            asked.setPassword(user ? keys.users.get(asked.getIdentifier()) : PASSWORD);
          }
        };
  }

  public static void main(String[] arguments) throws Exception {
    WSSConfig.init();
    Wire.serve(Wss4jReceiver::new);
  }

  @Override
  public List<String> open(List<String> message) throws Exception {
    Document document = Xml.parse(message.get(0));
    Xml.security(document);
    long now = System.currentTimeMillis();
    long at = message.get(1).isEmpty() ? now : Long.parseLong(message.get(1));
    List<WSSecurityEngineResult> results = process(document, at - now);
    Report report = new Report(results);
    if (at != now) report.requireTime(at);
    report.requireCoverage(document);
    Element body = Xml.body(document);
    return List.of(
        String.join(",", report.actions),
        String.join(",", report.namesOf(report.signed)),
        String.join(",", report.namesOf(report.encrypted)),
        Xml.inner(body),
        Xml.canonicalInner(body),
        report.user);
  }

  /** WSS4J uses the clock of the machine: another time is expressed as another tolerated age. */
  private List<WSSecurityEngineResult> process(Document document, long shift) throws Exception {
    WSSConfig config = WSSConfig.getNewInstance();
    config.setWsiBSPCompliant(true);
    if (shift != 0) {
      int older = (int) Math.max(0, -shift / 1000);
      int younger = (int) Math.max(0, shift / 1000);
      config.setTimeStampStrict(false);
      config.setTimeStampTTL(config.getTimeStampTTL() + older);
      config.setTimeStampFutureTTL(config.getTimeStampFutureTTL() + younger);
      config.setUtTTL(config.getUtTTL() + older);
      config.setUtFutureTTL(config.getUtFutureTTL() + younger);
    }
    RequestData data = new RequestData();
    data.setWssConfig(config);
    data.setSigCrypto(crypto);
    data.setDecCrypto(crypto);
    data.setCallbackHandler(passwords);
    data.setNonceReplayCache(nonces);
    data.setTimestampReplayCache(timestamps);
    WSSecurityEngine engine = new WSSecurityEngine();
    engine.setWssConfig(config);
    return engine.processSecurityHeader(WSSecurityUtil.getSecurityHeader(document, ""), data);
  }

  /** The findings of the engine, in the order of the header. */
  private static final class Report {
    final List<String> actions = new ArrayList<>();
    final List<Element> signed = new ArrayList<>();
    final List<Element> encrypted = new ArrayList<>();
    Date created;
    Date expires;
    String user = "";

    Report(List<WSSecurityEngineResult> results) {
      for (int index = results.size() - 1; index >= 0; index--) add(results.get(index));
    }

    private void add(WSSecurityEngineResult result) {
      Integer action = (Integer) result.get(WSSecurityEngineResult.TAG_ACTION);
      actions.add(ACTIONS.getOrDefault(action, String.valueOf(action)));
      if (action == WSConstants.SIGN) signed.addAll(elementsOf(result));
      if (action == WSConstants.ENCR) encrypted.addAll(elementsOf(result));
      if (action == WSConstants.TS) {
        Timestamp timestamp = (Timestamp) result.get(WSSecurityEngineResult.TAG_TIMESTAMP);
        created = timestamp.getCreated();
        expires = timestamp.getExpires();
      }
      if (action == WSConstants.UT) {
        user = ((UsernameToken) result.get(WSSecurityEngineResult.TAG_USERNAME_TOKEN)).getName();
      }
    }

    private static List<Element> elementsOf(WSSecurityEngineResult result) {
      List<Element> elements = new ArrayList<>();
      List<?> references = (List<?>) result.get(WSSecurityEngineResult.TAG_DATA_REF_URIS);
      if (references == null) return elements;
      for (Object each : references) elements.add(((WSDataRef) each).getProtectedElement());
      return elements;
    }

    List<String> namesOf(List<Element> elements) {
      List<String> names = new ArrayList<>();
      for (Element element : elements) names.add(element.getLocalName());
      return names;
    }

    /** The tolerances of the engine. */
    void requireTime(long at) {
      boolean fits = created != null && created.getTime() <= at + CLOCK_SKEW_MS;
      require(fits && expires != null && expires.getTime() > at, "not at this time");
    }

    /** The very elements, not some of the same name: that is what wrapping attacks confuse. */
    void requireCoverage(Document document) {
      Element body = Xml.body(document);
      Element security = Xml.security(document);
      require(signed.contains(body), "the Body is not signed");
      require(encrypted.contains(body), "the Body is not encrypted");
      Element timestamp = Xml.at(security, Xml.WSU, "Timestamp");
      require(signed.contains(timestamp), "the Timestamp is not signed");
      for (String name : new String[] {"BinarySecurityToken", "UsernameToken"}) {
        Element token = Xml.child(security, Xml.WSSE, name);
        require(token == null || signed.contains(token), "the " + name + " is not signed");
      }
    }

    private static void require(boolean holds, String otherwise) {
      if (!holds) throw new SecurityException(otherwise);
    }
  }
}
