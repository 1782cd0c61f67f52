import Checkout
import Model
import Testing

@testable import Render

@Suite("The template go-live that is shipped")
struct GoLiveTests {
  private static func prepare(_ event: Event) throws -> PreparedEvent {
    try Samples.prepare(Checkout.text("Config/templates/go-live.yaml"), event)
  }

  private func texts(_ fields: [String: String], _ event: Event) throws -> [String] {
    let preview = try Self.prepare(event).preview(recipient: fields)
    let json = try StrictJSON(preview.payload)
    return [
      preview.locale, json.text("aps.alert.title") ?? "", json.text("aps.alert.body") ?? "",
    ]
  }

  @Test(
    "Each locale greets by name",
    arguments: [
      ("en-GB", "en", "Aiko is live", "Hi Mia, tune in now: Speedrun night"),
      ("zh-CN", "zh-Hans", "Aiko开播了", "Mia，快来看直播：Speedrun night"),
      ("zh-TW", "zh-Hant", "Aiko開播了", "Mia，快來看直播：Speedrun night"),
      ("ja-JP", "ja", "Aikoがライブ配信を始めました", "Miaさん、ぜひご覧ください：Speedrun night"),
      ("ko-KR", "ko", "Aiko님이 방송을 시작했어요", "Mia님, 지금 함께해요: Speedrun night"),
      ("es-MX", "es", "Aiko está en directo", "Mia, no te lo pierdas: Speedrun night"),
      ("pt-PT", "pt-BR", "Aiko está ao vivo", "Mia, vem ver: Speedrun night"),
      (
        "ar-EG", "ar", "\u{2068}Aiko\u{2069} في بث مباشر الآن",
        "أهلًا \u{2068}Mia\u{2069}، يمكنك المشاهدة الآن: \u{2068}Speedrun night\u{2069}"
      ),
    ])
  func named(_ tag: String, _ locale: String, _ title: String, _ body: String) throws {
    #expect(try texts(["locale": tag, "name": "Mia"], Samples.event()) == [locale, title, body])
  }

  @Test(
    "Each locale reads right without any name or title",
    arguments: [
      ("en", "A streamer you follow is live", "Hi there, tune in now: the stream has just started"),
      ("zh-Hans", "你关注的主播开播了", "嗨，快来看直播：精彩内容正在进行"),
      ("zh-Hant", "你追蹤的直播主開播了", "嗨，快來看直播：精彩內容正在進行"),
      ("ja", "フォロー中の配信者がライブ配信を始めました", "みなさん、ぜひご覧ください：ただいま配信中です"),
      ("ko", "팔로우한 스트리머님이 방송을 시작했어요", "회원님, 지금 함께해요: 방송이 막 시작됐어요"),
      (
        "es", "Un canal que sigues está en directo",
        "Hola, no te lo pierdas: el directo acaba de empezar"
      ),
      ("pt-BR", "Um canal que você segue está ao vivo", "Oi, vem ver: a live acabou de começar"),
      (
        "ar", "\u{2068}قناة تتابعها\u{2069} في بث مباشر الآن",
        "أهلًا \u{2068}بك\u{2069}، يمكنك المشاهدة الآن: \u{2068}بدأ البث للتو\u{2069}"
      ),
    ])
  func nameless(_ locale: String, _ title: String, _ body: String) throws {
    let event = Samples.event(fields: [:])
    #expect(try texts(["locale": locale], event) == [locale, title, body])
  }

  @Test("Its payload has what an app looks for")
  func payload() throws {
    let preview = try Self.prepare(Samples.event()).preview(recipient: ["badge": "4"])
    let json = try StrictJSON(preview.payload)
    #expect(json.text("stream.id") == "b-991" && json.text("stream.streamer") == "s42")
    #expect(json.text("aps.thread-id") == "live-s42" && json["aps.badge"] == .integer(4))
    #expect(preview.headers.collapseID == "live-s42" && preview.headers.priority == 10)
    let stage = RenderStage(templates: [try Self.prepare(Samples.event()).template])
    #expect(stage.templateNames == ["go-live"])
    #expect(stage.template(named: "go-live")?.locales.count == 8)
  }
}
