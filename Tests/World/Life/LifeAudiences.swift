import MemoryRedis

/// What lives begin with, as Redis has it: written once for the lives that share it.
package final class LifeAudiences {
  private var images: [Int: StoreImage] = [:]

  package init() {}

  func use(_ number: Int, in server: MemoryRedis, write: () -> Void) {
    if let image = images[number] {
      server.store.image = image
    } else {
      write()
      images[number] = server.store.image
    }
    _ = server.store.takeEffects()
  }
}
