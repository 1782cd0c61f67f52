/// The app that a topic is of, which is the topic without the suffix of a push type.
package enum TopicApp {
  private static let suffixes = Set(PushType.allCases.map(\.topicSuffix)).subtracting([""])

  /// The apps that a topic may belong to: itself, as of an app whose name ends as a suffix does,
  /// and the app before each suffix that it ends in.
  package static func candidates(of topic: String) -> [String] {
    [topic]
      + suffixes.filter { topic.hasSuffix($0) }.sorted { $0.utf8.count > $1.utf8.count }
      .map { String(topic.dropLast($0.count)) }
  }
}
