import CDiffCURL

/// The functions of libcurl.
let curl = CURLLibrary.loaded.functions

/// Loads libcurl, which is not linked. A server that fetches nothing loads neither libcurl nor the libraries behind it
/// (for LDAP, Kerberos and SSH), and needs none of them installed.
package enum CURLLibrary {
    /// Why requests to other servers cannot be made, and what to install; nil if they can. Loads the library, once.
    package static var fault: String? { loaded.fault }

    fileprivate static let loaded = {
        var functions = cdiff_curl()
        if let reason = cdiff_curl_load(&functions) {
            return (functions: functions, fault: "apt-get install libcurl4 (\(String(cString: reason)))" as String?)
        }
        _ = functions.global_init(Int(CURL_GLOBAL_DEFAULT))
        return (functions, nil)
    }()
}
