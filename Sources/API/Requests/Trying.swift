import Devices

/// Turns a refusal of Devices into a problem of the API.
func given<T>(_ body: () throws(GivenRefusal) -> T) throws(Problem) -> T {
  do {
    return try body()
  } catch {
    throw Problem(error)
  }
}

/// Turns a failure of Devices into a problem of the API.
func done<T>(_ body: () async throws(DevicesError) -> T) async throws(Problem) -> T {
  do {
    return try await body()
  } catch {
    throw Problem(error)
  }
}
