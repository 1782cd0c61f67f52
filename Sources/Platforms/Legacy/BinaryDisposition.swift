import APNs
import Deliver
import Model

extension LegacyStatus {
  /// The disposition of the push that an error response names, in the words of HTTP/2's reasons;
  /// nil when it was taken. Everything behind it is sent again, whatever the status.
  var disposition: Disposition? {
    switch meaning {
    case .lastTaken: nil
    case .tryAgain: .retry(.internalServerError)
    case .ours:
      switch code {
      case 2: .rejectAndAlert(.missingDeviceToken)
      case 3: .rejectAndAlert(.missingTopic)
      case 4: .rejectAndAlert(.payloadEmpty)
      // The size is ours to get right; it says nothing of the device.
      case 5: .rejectAndAlert(.badDeviceToken)
      case 6: .rejectAndAlert(.badTopic)
      default: .rejectAndAlert(.other)
      }
    case .payloadTooLong: .reject(.payloadTooLarge)
    case .tokenInvalid: .setAside(.badDeviceToken)
    case .unknown: .rejectAndAlert(.other)
    }
  }
}
