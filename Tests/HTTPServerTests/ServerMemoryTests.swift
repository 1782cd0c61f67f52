import HTTPServer
import Testing

/// The sum that a process' bound of memory is made of.
@Suite struct ServerMemoryTests {
  /// Of each of 3 connections 4 times 5 bytes, 7, and 80 KiB; 2 times 33 or 13 of bodies.
  @Test(arguments: [(nil, 245_907), (13, 245_867)] as [(Int?, Int)])
  func headsAnswersAndBodiesAreThereTwiceOrMore(bodies: Int?, expected: Int) {
    var options = HTTPServerOptions(wallClock: { 0 })
    options.maximumConnections = 3
    options.maximumHeadBytes = 5
    options.maximumBodyBytes = 11
    options.maximumBodiesBytes = bodies
    #expect(options.maximumMemoryBytes(answerBytes: 7) == expected)
  }
}
