import Foundation
import SnapshotKit

extension JSONText {
    /// Decodes a content.
    ///
    /// ```swift
    /// let mail = try row.content?.decoded(as: Mail.self)
    /// ```
    public func decoded<Value: Decodable>(as type: Value.Type, by decoder: JSONDecoder = JSONDecoder()) throws -> Value
    {
        try decoder.decode(type, from: Data(bytes))
    }

    /// Encodes a value as content, or as edits.
    public init(encoding value: some Encodable, by encoder: JSONEncoder = JSONEncoder()) throws {
        try self.init([UInt8](encoder.encode(value)))
    }
}
