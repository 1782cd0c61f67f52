import JSON

/// The answer to a request about channels.
struct ChannelAnswer: Equatable {
  var status: Int
  var fields: [(name: String, value: String)] = []
  var body = ""

  static func == (one: ChannelAnswer, other: ChannelAnswer) -> Bool {
    one.status == other.status && one.body == other.body
      && one.fields.elementsEqual(other.fields) { $0 == $1 }
  }

  static func refuse(_ reason: BroadcastReason) -> ChannelAnswer {
    ChannelAnswer(status: reason.status, body: #"{"reason":"\#(reason.rawValue)"}"#)
  }
}
