import HTTPCore
import SnapshotKit

/// Guesses the shapes of a JSON document. Nothing is stored.
enum PostShape {
    @Sendable
    static func prepare(_ call: Call) -> Answer {
        call.scanCount = ShapeGuess.cost
        let limits = call.service.settings.stateLimits
        return { (body) throws(Problem) in
            var document = StateDocument(body)
            var object = JSONObject()
            object.name("shapes")
            do throws(StateError) {
                object.writer.append(array: try document.shapes(limits)) { $1.write(into: &$0) }
            } catch { throw Problem(error) }
            return .now(Response(json: object.body()))
        }
    }
}
