// Intents change a content as earlier edits have left it, within the batch, too. Each is carried out at
// once, so that a violation is reported for the edit that causes it; of the contents that successive edits make, only
// the last is kept. Since a few bytes of a batch can ask for a long content again and again, the total cost is bounded.

extension EditedState {
    static let tooManyDigits = "a number may have at most \(ExactDecimal.maxDigits) digits, without an exponent"

    /// How many bytes of contents may be read again, in contents of the largest size.
    private static let maxRepeats = 4

    /// Patches the content of a section or an item, then adds to numbers in it, then appends to strings.
    mutating func carryOut(_ update: EditUpdate, on vertex: Int, _ violations: inout Violations) {
        let patch = update.patch.map { DocumentPlace(Int($0.lowerBound)) }
        let additions = batch.additions[update.additions] + batch.additions[update.appends]
        let before = withContent(of: vertex) { $0.count }
        let kept = overrides[vertex]?.made?.text.count ?? 0
        if let text = update.patch, let patch {
            guard takesRoom(vertex, patch, &violations) else { return }
            let merged = withContent(of: vertex) { JSONText(merging: self.text(text), into: $0) }
            change(vertex) { $0.made = (merged, nil) }
        }
        for addition in additions {
            guard takesRoom(vertex, DocumentPlace(addition.offset, levelsUp: 1), &violations) else { return }
            let override = overrides[vertex]
            let isOld = vertex < firstNew && override?.made == nil && override?.content == nil
            var grown: GrownText?
            if isOld, case .oldItem(let item) = self.vertex(numbered: vertex) { grown = old.columns.grown[item] }
            do throws(AdditionError) {
                let text = try withContent(of: vertex) { (content) throws(AdditionError) in
                    let path = bytes + Int(addition.path)
                    switch addition.addend {
                    case .amount(let amount):
                        grown = nil
                        return try JSONText(adding: amount, at: path, to: content)
                    case .text(let start):
                        return try JSONText(
                            appending: bytes + Int(start), at: path, to: content, limit: limits.maxTextBytes, &grown)
                    }
                }
                change(vertex) { $0.made = (text, isOld ? grown : nil) }
            } catch {
                // A content read in vain counts, too.
                repeated += before
                let (code, detail) =
                    switch error {
                    case .notANumber: ("not-a-number", "there is no number to add to: put one there by patch")
                    case .tooManyDigits: ("limit-exceeded", Self.tooManyDigits)
                    case .notAString: ("not-a-string", "there is no string to append to: put one there by patch")
                    case .tooLong(let count):
                        ("limit-exceeded", "the text would have \(count) bytes, of at most \(limits.maxTextBytes)")
                    }
                violations.note(code, detail, at: DocumentPlace(addition.offset))
            }
        }
        let after = withContent(of: vertex) { $0.count }
        madeBytes += (overrides[vertex]?.made?.text.count ?? 0) - kept
        // The object of all additions.
        let place = patch ?? additions.first.map { DocumentPlace($0.offset, levelsUp: 1) }
        if after > limits.maxContentBytes, after > before, let place {
            violations.note(
                "limit-exceeded", "the content would have \(after) bytes, of at most \(limits.maxContentBytes)",
                at: place)
        }
    }

    /// Whether a content may be read, perhaps once more.
    mutating func takesRoom(_ vertex: Int, _ place: DocumentPlace, _ violations: inout Violations) -> Bool {
        if isExhausted { return false }
        let made = overrides[vertex]?.made?.text.count
        repeated += made ?? 0
        let isTooLong = madeBytes + (made == nil ? withContent(of: vertex) { $0.count } : 0) > limits.maxMadeBytes
        isExhausted = isTooLong || repeated / Self.maxRepeats > limits.maxContentBytes
        if !isExhausted { return true }
        violations.note(
            "limit-exceeded",
            isTooLong
                ? "the contents that this batch changes have more than \(limits.maxMadeBytes) bytes in total"
                : "this batch patches long contents too often: send fewer edits at once",
            at: place)
        return false
    }

    /// Calls `body` with the content that a section or an item has now; empty for none.
    func withContent<Result, Failure: Error>(
        of vertex: Int, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let override = overrides[vertex]
        if let made = override?.made { return try made.text.withBytes(body) }
        if let content = override?.content { return try body(text(content)) }
        let payload = record(of: vertex).payload
        return try body(
            vertex < firstNew
                ? old.text.bytes(at: payload.contentStart, Int(payload.contentCount))
                : text(payload.contentStart..<payload.contentStart + payload.contentCount))
    }

    private func text(_ range: Range<UInt32>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: bytes + Int(range.lowerBound), count: range.count)
    }
}
