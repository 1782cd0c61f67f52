import MemoryRedis
import Threads

/// What lives begin with, as Redis has it: written once for the lives that share it, on whatever
/// thread.
package final class LifeAudiences: Sendable {
  private let images = ThreadLock<[Int: StoreImage]>([:])

  package init() {}

  func use(_ number: Int, in server: MemoryRedis, write: () -> Void) {
    if let image = images.withLock({ $0[number] }) {
      server.store.image = image
    } else {
      write()
      let image = server.store.image
      images.withLock { $0[number] = image }
    }
    _ = server.store.takeEffects()
  }
}
