import Testing

@testable import FCMSimulator

@Suite struct MessageScanTests {
  private func read(_ body: String) -> Result<ScannedMessage, FCMRefusal> {
    Array(body.utf8).withUnsafeBufferPointer { bytes in
      Result { () throws(FCMRefusal) in try MessageScan.read(bytes) }
    }
  }

  private func message(_ members: String) -> Result<ScannedMessage, FCMRefusal> {
    read(#"{"message":{"token":"abc:APA91b","# + members + "}}")
  }

  /// The field that the refusal names and whether FCM itself refuses, or "accepted".
  private func verdict(_ result: Result<ScannedMessage, FCMRefusal>) -> String {
    guard case .failure(let refusal) = result else { return "accepted" }
    #expect(refusal.status == 400 && refusal.name == "INVALID_ARGUMENT")
    for case .badRequest(let field, _) in refusal.details {
      return "\(field) \(refusal.errorCode ?? "-")"
    }
    return "no field"
  }

  @Test func bothSpellingsOfEveryFieldAreRead() throws {
    let camel = """
      "name":"","data":{"a":"1"},"notification":{"title":"t","body":"b","image":"i"},
      "fcmOptions":{"analyticsLabel":"a-b_c"},"android":{"collapseKey":"k","priority":"high",
      "ttl":"3.5s","restrictedPackageName":"p","data":{"b":"2"},"directBootOk":true,
      "bandwidthConstrainedOk":false,"restrictedSatelliteOk":true,
      "fcmOptions":{"analyticsLabel":"x"},"notification":{"title":"t","body":"b","icon":"i",
      "color":"#00aaff","sound":"s","tag":"g","clickAction":"c","bodyLocKey":"k",
      "bodyLocArgs":["a","b"],"titleLocKey":"k","titleLocArgs":[],"channelId":"c","ticker":"t",
      "sticky":true,"eventTime":"2026-11-28T00:00:00Z","localOnly":false,
      "notificationPriority":"PRIORITY_MAX","defaultSound":true,"defaultVibrateTimings":true,
      "defaultLightSettings":true,"vibrateTimings":["1s","0.5s"],"visibility":"PRIVATE",
      "notificationCount":3,"lightSettings":{"color":{"red":0.5,"green":1,"blue":1e-2,"alpha":0},
      "lightOnDuration":"1s","lightOffDuration":"2s"},"image":"i","proxy":"ALLOW",
      "bypassProxyNotification":true}},"apns":{"headers":{"apns-priority":"5"},
      "payload":{"aps":{"alert":[1,null,{"x":true}]}},"fcmOptions":{"image":"i"},
      "liveActivityToken":"l"},"webpush":{"headers":{},"data":{"google.c":"1"},
      "notification":{"title":null},"fcmOptions":{"link":"https://x"}}
      """
    let both = read(
      #"{"validateOnly":true,"message":{"token":"abc","# + camel + "}}")
    #expect(try both.get().isValidateOnly)
    var snake = ""
    for scalar in camel.unicodeScalars {
      let isName = scalar.properties.isUppercase && snake.last?.isLowercase == true
      snake += isName ? "_\(scalar.properties.lowercaseMapping)" : "\(scalar)"
    }
    #expect(verdict(message(snake)) == "accepted")
  }

  @Test(arguments: [
    ("", " -"), ("[]", " -"), ("{", " -"), (#"{"message":{"token":"a"}} x"#, " -"),
    (#"{"message":{"token":"a",}}"#, " -"), (#"{"message":{"token":"a\q"}}"#, " -"),
    (#"{"message":{"token":"\ud800"}}"#, " -"), (#"{"message":{'token':"a"}}"#, " -"),
    (#"{"massage":{}}"#, " -"), (#"{"message":{"token":"a"},"validate":true}"#, " -"),
    (#"{"message":{"token":"a","x":1}}"#, "message -"),
    (#"{"message":{"token":"a","android":{"ttl_":"1s"}}}"#, "message.android -"),
    (#"{"message":{"token":7}}"#, "message.token -"), (#"{"message":[]}"#, "message -"),
    (#"{"message":{"token":"a","topic":"b"}}"#, "message -"),
    (#"{"message":{}}"#, "message INVALID_ARGUMENT"), ("{}", "message INVALID_ARGUMENT"),
    (#"{"message":{"token":""}}"#, "message INVALID_ARGUMENT"),
    (#"{"message":{"token":"a b"}}"#, "message.token INVALID_ARGUMENT"),
    (#"{"message":{"fid":"short"}}"#, "message.fid INVALID_ARGUMENT"),
    (#"{"message":{"topic":"a b"}}"#, "message.topic INVALID_ARGUMENT"),
    (
      #"{"message":{"token":"a","android":{},"androidV2":{}}}"#,
      "message.android_v2 INVALID_ARGUMENT"
    ),
  ])
  func whatIsNoMessageIsRefused(body: String, expected: String) {
    #expect(verdict(read(body)) == expected)
  }

  @Test(arguments: [
    (#""data":{"a":1}"#, "message.data[0].value -"), (#""data":["a"]"#, "message.data -"),
    (#""data":{"a":"1","b":null}"#, "message.data[1].value -"),
    (#""data":{"from":"x"}"#, "message.data.from INVALID_ARGUMENT"),
    (#""data":{"message_type":"x"}"#, "message.data.message_type INVALID_ARGUMENT"),
    (#""data":{"google.x":"x"}"#, "message.data.google.x INVALID_ARGUMENT"),
    (#""data":{"gcm.notification.x":"x"}"#, "message.data.gcm.notification.x INVALID_ARGUMENT"),
    (#""data":{"fr\u006fm":"x"}"#, "message.data.from INVALID_ARGUMENT"),
    (#""data":{"fromage":"x","gcm":"y"}"#, "accepted"),
    (#""android":{"data":{"from":"x"}}"#, "message.android.data.from INVALID_ARGUMENT"),
    (#""android":{"ttl":"0s"}"#, "accepted"), (#""android":{"ttl":"2419200s"}"#, "accepted"),
    (#""android":{"ttl":"2419201s"}"#, "message.android.ttl INVALID_ARGUMENT"),
    (#""android":{"ttl":"-0.5s"}"#, "message.android.ttl INVALID_ARGUMENT"),
    (#""android":{"ttl":"60"}"#, "message.android.ttl -"),
    (#""android":{"ttl":60}"#, "message.android.ttl -"),
    (#""android":{"priority":"urgent"}"#, "message.android.priority -"),
    (#""android":{"priority":1}"#, "accepted"), (#""android":{"priority":null}"#, "accepted"),
    (#""android":{"directBootOk":"true"}"#, "message.android.direct_boot_ok -"),
    (
      #""android":{"notification":{"color":"red"}}"#,
      "message.android.notification.color INVALID_ARGUMENT"
    ),
    (
      #""android":{"notification":{"notificationCount":1.5}}"#,
      "message.android.notification.notification_count -"
    ),
    (#""android":{"notification":{"notificationCount":"12"}}"#, "accepted"),
    (
      #""android":{"notification":{"bodyLocArgs":[1]}}"#,
      "message.android.notification.body_loc_args -"
    ),
    (
      #""android":{"notification":{"eventTime":"today"}}"#,
      "message.android.notification.event_time -"
    ),
    (
      #""fcmOptions":{"analyticsLabel":"a b"}"#,
      "message.fcm_options.analytics_label INVALID_ARGUMENT"
    ),
    (#""notification":{"title":1}"#, "message.notification.title -"),
    (#""apns":{"payload":"x"}"#, "message.apns.payload -"),
    // FCM sees the values when all of them could be read.
    (#""data":{"from":"x"},"android":{"ttl":1}"#, "message.android.ttl -"),
  ])
  func valuesAreJudged(members: String, expected: String) {
    #expect(verdict(message(members)) == expected)
  }

  @Test func keysAndValuesOfDataAndNotificationMayHave4096Bytes() {
    func sized(_ count: Int, _ members: String = "") -> String {
      let value = String(repeating: "x", count: count)
      return verdict(message(members + #""data":{"k":"\#(value)"}"#))
    }
    let tooBig = "message INVALID_ARGUMENT"
    #expect(sized(4095) == "accepted")
    #expect(sized(4096) == tooBig)
    #expect(sized(4079, #""notification":{"body":"0123456789ab"},"#) == "accepted")
    #expect(sized(4080, #""notification":{"body":"0123456789ab"},"#) == tooBig)
    // An escape counts as the bytes that it stands for.
    #expect(sized(4086, #""notification":{"title":"\ud83d\ude00"},"#) == "accepted")
    #expect(sized(4087, #""notification":{"title":"\ud83d\ude00"},"#) == tooBig)
    // Android's own data takes the place of the message's.
    #expect(sized(9000, #""android":{"data":{"a":"b"}},"#) == "accepted")
  }

  @Test func topicsMayHaveHalfOfIt() {
    func sized(_ count: Int) -> String {
      let value = String(repeating: "x", count: count)
      return verdict(read(#"{"message":{"topic":"news","data":{"k":"\#(value)"}}}"#))
    }
    #expect(sized(2047) == "accepted")
    #expect(sized(2048) == "message INVALID_ARGUMENT")
  }

  @Test func escapesOfTokensAreUndone() throws {
    let scanned = try read(#"{"message":{"t\u006fken":"a\u003aB"}}"#).get()
    #expect(scanned.name == Array("a:B".utf8))
    #expect(scanned.device == scanned.name)
  }

  @Test func theLastOfTwoMembersHolds() throws {
    let scanned = try read(#"{"message":{"token":"a","token":"b"}}"#).get()
    #expect(scanned.name == Array("b".utf8))
  }

  @Test func installationsAreDevicesAndTopicsAreNot() throws {
    let fid = "cdefghijklmnopqrstuv_-"
    #expect(try read(#"{"message":{"fid":"\#(fid)"}}"#).get().device == Array(fid.utf8))
    #expect(try read(#"{"message":{"topic":"a"}}"#).get().device == nil)
    #expect(try read(#"{"message":{"condition":"'a' in topics"}}"#).get().device == nil)
  }
}
