import HTTPServer
import Testing

/// The sum that a process' bound of memory is made of.
@Suite struct ServerMemoryTests {
  /// Of each of 3 connections 4 times 5 and 2 times 7 bytes; 2 times 33 or 13 of bodies.
  @Test(arguments: [(nil, 168), (13, 128)] as [(Int?, Int)])
  func headsAnswersAndBodiesAreThereTwiceOrMore(bodies: Int?, expected: Int) {
    var options = HTTPServerOptions()
    options.maximumConnections = 3
    options.maximumHeadBytes = 5
    options.maximumBodyBytes = 11
    options.maximumBodiesBytes = bodies
    #expect(options.maximumMemoryBytes(answerBytes: 7) == expected)
  }
}
