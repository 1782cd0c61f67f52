/// A request for a broadcast channel or to one, whole.
struct ChannelRequest: Equatable {
  var method = ""
  var path = ""
  /// By name; a field that came twice has its last value.
  var fields: [String: String] = [:]
  var body: [UInt8] = []
}
