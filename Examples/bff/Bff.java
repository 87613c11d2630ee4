// A backend-for-frontend in Java 17, without packages: it fetches an upstream's list, posts it to diffserver as it is, and passes the
// changeset on. docs/bff.md explains each step. `java Bff.java` compiles and runs it.
//
//   GET  /lists/{name}/changes?since=…&dialect=…   fetches upstream and answers what changed for this client
//   POST /lists/{name}/token                       gives a thin client a token, with which it follows the session itself

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public final class Bff {
    private static final String DIFFSERVER = setting("DIFFSERVER_URL", "http://127.0.0.1:8080");
    private static final String SECRET = setting("DIFFSERVER_SECRET", "");
    private static final String UPSTREAM = setting("UPSTREAM_URL", "http://127.0.0.1:9000");
    private static final String SHAPE =
        "itemsAt=" + encoded(setting("ITEMS_AT", "/Incidents")) + "&idAt=" + encoded(setting("ID_AT", "/UniqueId"));
    private static final Pattern PATH = Pattern.compile("/lists/([\\w-]{1,64})/(changes|token)");
    private static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    /** What diffserver answers; what may pass is tried again under one key, so that nothing is done twice. */
    static HttpResponse<byte[]> post(String path, byte[] body) throws IOException, InterruptedException {
        var request = HttpRequest.newBuilder(URI.create(DIFFSERVER + path)).timeout(Duration.ofSeconds(10))
            .header("Content-Type", "application/json").header("Idempotency-Key", UUID.randomUUID().toString())
            .POST(HttpRequest.BodyPublishers.ofByteArray(body));
        if (!SECRET.isEmpty()) request.header("Authorization", "Bearer " + SECRET);
        for (int failures = 0;; failures += 1) {
            long pause = ThreadLocalRandom.current().nextLong(50, 100) << failures;
            try {
                var answer = CLIENT.send(request.build(), BodyHandlers.ofByteArray());
                if (failures == 3 || (answer.statusCode() < 500 && answer.statusCode() != 429)) return answer;
                pause += 1_000 * answer.headers().firstValueAsLong("Retry-After").orElse(0);
            } catch (IOException error) {
                if (failures == 3) throw error;
            }
            Thread.sleep(pause);
        }
    }

    /** One session a user and list: who may see another list must not share it. */
    static String session(String user, String list) throws GeneralSecurityException {
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(user.getBytes(StandardCharsets.UTF_8));
        return list + ":" + HexFormat.of().formatHex(hash, 0, 12);
    }

    /** Who asks. Put your own authentication here. */
    static String user(HttpExchange exchange) {
        return Optional.ofNullable(exchange.getRequestHeaders().getFirst("X-User")).orElse("guest");
    }

    static void changes(HttpExchange exchange, String list) throws Exception {
        var upstream = HttpRequest.newBuilder(URI.create(UPSTREAM + "/" + list)).timeout(Duration.ofSeconds(10)).build();
        var found = CLIENT.send(upstream, BodyHandlers.ofByteArray());
        if (found.statusCode() != 200) throw new IOException("upstream answers " + found.statusCode());
        var query = Optional.ofNullable(exchange.getRequestURI().getRawQuery()).orElse("");
        var asked = new StringBuilder(SHAPE);
        for (String name : List.of("since", "dialect", "staging", "content")) {
            Matcher value = Pattern.compile("(?:^|&)" + name + "=([^&]*)").matcher(query);
            if (value.find()) asked.append("&").append(name).append("=").append(value.group(1));
            else if (name.equals("since")) asked.append("&since="); // a client without a revision gets a reset
        }
        // The upstream's bytes go through as they came: parsing and writing them again would change them.
        var answer = post("/v1/sessions/" + session(user(exchange), list) + "/changes?" + asked, found.body());
        send(exchange, answer.statusCode(), answer.headers(), answer.body());
    }

    static void token(HttpExchange exchange, String list) throws Exception {
        String session = session(user(exchange), list);
        var answer = post("/v1/sessions/" + session + "/tokens", "{\"ttl\":3600,\"scope\":[\"read\"]}".getBytes());
        // The answer is an object: the session becomes its first member.
        var body = new String(answer.body(), StandardCharsets.UTF_8);
        if (answer.statusCode() == 201) body = body.replaceFirst("\\{", "{\"session\":\"" + session + "\",");
        send(exchange, answer.statusCode(), answer.headers(), body.getBytes(StandardCharsets.UTF_8));
    }

    /** Hands an answer on: its status, its type, its bytes, and when to come back. */
    static void send(HttpExchange exchange, int status, HttpHeaders headers, byte[] body) throws IOException {
        for (String name : List.of("Content-Type", "Retry-After")) {
            headers.firstValue(name).ifPresent((value) -> exchange.getResponseHeaders().set(name, value));
        }
        exchange.getResponseHeaders().set("Cache-Control", "no-store");
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        exchange.getResponseBody().write(body);
    }

    static void refuse(HttpExchange exchange, int status, String title) throws IOException {
        var type = HttpHeaders.of(Map.of("Content-Type", List.of("application/problem+json")), (name, value) -> true);
        send(exchange, status, type, ("{\"title\":\"" + title + "\",\"status\":" + status + "}").getBytes());
    }

    static void answer(HttpExchange exchange) throws IOException {
        Matcher path = PATH.matcher(exchange.getRequestURI().getPath());
        String asked = path.matches() ? exchange.getRequestMethod() + " " + path.group(2) : "";
        try {
            switch (asked) {
                case "GET changes" -> changes(exchange, path.group(1));
                case "POST token" -> token(exchange, path.group(1));
                default -> refuse(exchange, 404, "Not found");
            }
        } catch (Exception error) {
            System.err.println(error);
            refuse(exchange, 502, "Bad gateway");
        } finally {
            exchange.close();
        }
    }

    static String setting(String name, String otherwise) {
        return System.getenv().getOrDefault(name, otherwise);
    }

    static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    public static void main(String[] arguments) throws IOException {
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(setting("PORT", "3000"))), 0);
        server.createContext("/", Bff::answer);
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
        System.out.println("listening on http://127.0.0.1:" + server.getAddress().getPort());
    }
}
