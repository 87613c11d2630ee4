/// The version of this program.
package enum Version {
    package static let text = "0.2.0"
}
