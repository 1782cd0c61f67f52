import Model
import Testing

@Suite struct TopicAppTests {
  @Test(arguments: PushType.allCases)
  func findsTheAppOfEachPushType(type: PushType) {
    let topic = "com.example.live" + type.topicSuffix
    #expect(TopicApp.candidates(of: topic).contains("com.example.live"))
    #expect(TopicApp.candidates(of: topic).first == topic)
  }

  @Test func anAppIsItself() {
    #expect(TopicApp.candidates(of: "com.example.live") == ["com.example.live"])
    #expect(TopicApp.candidates(of: "com.example.voip") == ["com.example.voip", "com.example"])
  }
}
