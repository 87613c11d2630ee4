/// `Date: ` in the one form that a server may write (RFC 9110 §5.6.7), made once a second.
struct DateField: Sendable {
    private(set) var line: [UInt8] = []
    private var second: Int = .min

    /// Makes the line for a time in seconds since 1970 unless it stands already.
    @inline(__always)
    mutating func update(_ now: Int) {
        if now != second {
            second = now
            line = Self.line(now)
        }
    }

    static func line(_ seconds: Int) -> [UInt8] {
        let days = seconds / 86_400
        let date = civil(days)
        let weekdays: [StaticString] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months: [StaticString] = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        let line = OutputBuffer(capacity: 64)
        line.append("Date: ")
        line.append(weekdays[days % 7])
        line.append(", ")
        line.append(twoDigits: date.day)
        line.append(" ")
        line.append(months[date.month - 1])
        line.append(" ")
        line.append(decimal: date.year)
        line.append(" ")
        line.append(twoDigits: seconds % 86_400 / 3600)
        line.append(":")
        line.append(twoDigits: seconds % 3600 / 60)
        line.append(":")
        line.append(twoDigits: seconds % 60)
        line.append(" GMT\r\n")
        return Array(line.bytes)
    }

    /// The Gregorian date of a day counted from 1970-01-01, counted in eras of 400 years that start in March, so that
    /// the leap day is the last of its year.
    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}

extension OutputBuffer {
    fileprivate func append(twoDigits number: Int) {
        if number < 10 { append("0") }
        append(decimal: number)
    }
}
