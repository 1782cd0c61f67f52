/// News that a client's session has heard and its owner has not asked for yet.
struct ClientState {
  var goAwayReceived = false
  var settingsReceived = false
  /// Since the owner asked last.
  var settingsChanged = false
  var pingAcknowledgements = 0
  /// Where in `ended` those begin that the owner has not heard of, and how many they are.
  var firstEnded = 0
  var endedCount = 0
}
