import Devices

/// What Devices refuses, in the API's words.
func given<T>(_ body: () throws(GivenRefusal) -> T) throws(Problem) -> T {
  do {
    return try body()
  } catch {
    throw Problem(error)
  }
}

/// What Devices could not do, in the API's words.
func done<T>(_ body: () async throws(DevicesError) -> T) async throws(Problem) -> T {
  do {
    return try await body()
  } catch {
    throw Problem(error)
  }
}
