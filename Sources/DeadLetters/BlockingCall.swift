import Kafka
import Threads

/// Runs what blocks on a thread of its own: a loop's thread must not wait for Kafka.
enum BlockingCall {
  static func run<T: Sendable>(
    _ body: @escaping @Sendable () throws(KafkaError) -> T
  ) async throws(KafkaError) -> T {
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<T, KafkaError>, Never>) in
      let thread = SystemThread {
        let result: Result<T, KafkaError>
        do throws(KafkaError) {
          result = .success(try body())
        } catch {
          result = .failure(error)
        }
        continuation.resume(returning: result)
      }
      guard let thread else {
        let error = KafkaError(
          code: .other, message: "no thread can be started for Kafka; raise the process limit")
        continuation.resume(returning: .failure(error))
        return
      }
      thread.detach()
    }
    return try result.get()
  }
}
