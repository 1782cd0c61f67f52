import MemoryRedis
import Threads

/// The audiences that lives begin with, as Redis has them. Each is written once, for all lives that
/// share it on any thread.
package final class LifeAudiences: Sendable {
  private let images = ThreadLock<[Int: StoreImage]>([:])

  package init() {}

  func use(_ number: Int, in server: MemoryRedis, write: () -> Void) {
    if let image = images.withLock({ $0[number] }) {
      server.store.image = image
    } else {
      write()
      server.store.freeze()
      let image = server.store.image
      images.withLock { $0[number] = image }
    }
    _ = server.store.takeEffects()
  }
}
