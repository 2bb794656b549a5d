// KEY=... java SendJose.java URL PAYLOAD CA
// Sends a payload to POST /proxy/jose and prints the response. Needs a JDK (17 or newer) and nothing else.
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class SendJose {
  public static void main(String[] args) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(args[0]))
            .timeout(Duration.ofSeconds(30))
            .header("ft-access-key", System.getenv("KEY"))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofFile(Path.of(args[1])))
            .build();
    HttpClient client = HttpClient.newBuilder().sslContext(trusting(Path.of(args[2]))).build();
    HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
    // The text of an error names the field or the placeholder, and never a value.
    if (response.statusCode() != 200) throw new IllegalStateException(response.statusCode() + " " + response.body());
    System.out.print(response.body());
  }

  /** Trusts this CA and no other. */
  static SSLContext trusting(Path authority) throws Exception {
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    try (InputStream pem = Files.newInputStream(authority)) {
      trusted.setCertificateEntry("cardvault", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(null, trust.getTrustManagers(), null);
    return tls;
  }
}
