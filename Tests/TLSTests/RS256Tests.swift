import Fixtures
import TLS
import Testing
import Text

@Suite struct RS256Tests {
  /// What `openssl dgst -sha256 -sign` makes of "sample" with this key.
  @Test func signsAsOpenSSLsProgramDoes() throws {
    let expected =
      "3e297183aee46871b516c6998d81233dab36cc60366a4cbb32fb3e27346eab4af414f14c487465a059ccca"
      + "8f8bee87f10746cfd265973e670005cfe459b2abd1ea411dc13296d11fd3e1418df035951a6bb92777789e"
      + "998bf67e42087c50a378da448d056bba1cc67d6aa8d463031157d4cb12dec01135b6c2f22c9d3038d07906"
      + "d5d310022e05803bf734c5ef29c8243bba76f8fdd12b7688951aea7655726573bcaa9d3742000e19f91e8a"
      + "2580f1fa49db83fa4449fa3274820f4db41410ae26a5558bd359d092a952e435152c672fb5767b991e20c7"
      + "5f763df37efffeb5a35bfda5b38a449712682b18031b03f6dbbff7b6f3f65a085ce11f753503741466"
    let key = try RS256Key(pem: SampleRSAKey.pem)
    #expect(Hexadecimal.text(try key.sign(Array("sample".utf8))) == expected)
    #expect(Hexadecimal.text(try key.sign(Array("sample".utf8))) == expected)
    #expect(Hexadecimal.text(try key.sign([])) != expected)
  }

  @Test func refusesWhatIsNoKeyForIt() throws {
    let curve = try ES256Key.generate().privateKeyPEM
    for (pem, words) in [
      ("", "no private key"), ("-----BEGIN PRIVATE KEY-----\nAAAA", "cannot be read"),
      (curve, "no RSA key"), (Self.short, "1024 bits"), (Self.mixed, "does not fit"),
    ] {
      let error = #expect(throws: TLSError.self) { _ = try RS256Key(pem: pem) }
      #expect(error?.code == .badKey && error?.message.contains(words) == true)
    }
  }

  private static let short = """
    -----BEGIN PRIVATE KEY-----
    MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBALwvCOw3LGSuEuoc
    N03M29dcVKWj46n/3Zk8ynkjXUKLSNeO77DAfVmu3Tr+Ke+pSdaCxrFv87DHO0cD
    SLiX2+cQiOdOlwKbfsf6u7LhUV/mW9R9FqMx0G94DeYfG1sRz257sZcJyIorj4ku
    bW71M1jkzZKOWfOSsLzMo0lAoFBvAgMBAAECgYBHNgVKXhaOgtDlhofnCP6oIGhn
    xf0A97IDqt1zuc4wwERwTcamPDEzHtjY2hVEe+tVIWfO/W5aFwp3dOav88diodrt
    IeFF/35h004hc9RuY8Su11pbyyJsY+F9glClzSJdiGeVnBNq8yarZcoqnJpwj8AV
    TtjNB6W89Gey3SxZAQJBAPVDlfKfjkG20mxkLs+ZtVNPn+SYKKZYXnk6K19f/eyD
    XzYN8PcmrKIJKsxmQovmMQrwAnoJYugN7PRWkkQQmWsCQQDEa8+TT+ZN2CGi/MsR
    fdZB6/jZJG7tQ01hHrLILJSprBLLXfidmtsoOmjTGydi+R4qn2jyeeXimNrOV4pX
    vRINAkEArtrfVVlBb0Iq5JHL+b+I0Xtr7+o22NkZiW3aLCXgfzTttTjdOSa+XssQ
    Uyb4fIrBHh4cdeqpM+1xqITrxFDdPwJAODwRisBmVEUbpDkxvklDrU3syeY3Z/BL
    2BFc6BhzW3xrSRQXWK/8LLFET6RHi3t9GoDXIAysN0rB4i+H6QS1hQJBAIO6GQTQ
    czVuSEnd5vWCeHuhThE8eBDobZE9ETkO2GDrGj2/l01T3erfJr79Ct0CHWNcCUjV
    SncYw1CNUF15vW0=
    -----END PRIVATE KEY-----
    """

  /// The public half of one key, and the private half of another.
  private static let mixed = """
    -----BEGIN PRIVATE KEY-----
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCi2iHklS3iQ+IP
    v0yUoWF3JBAGTgiGmWge/Nwug4SMcn2lTAPcX9g9EEtQ6Krzx2VTfBGbhRsCihR1
    QcTrUsamTs2YRWo8rhpVZxA/0/f6YH+Lq9UGtQf2at9p+mVhNwD0aKvI8siVk5W6
    qruaQpFmdwVx2TJlLXeyTTshD4t12Nghk/Z7VzcACjN2UtNgyBLQy3kuylKaD5iG
    jyo6Ylsf6HqY3TVKwM5prc0/CqDE6HjONkXOMmIBp68L5aGHpFVOYTcfMpNBTfhD
    uqnWwkKNgQOrjEsD1eY4Idor2ea6PDnhMyJgPcX1lmDzoKdcblHFOgBXo9+D8gKH
    PQghBrihAgMBAAECggEAGQBn/5a0j2m456YIluiu4HQrCVJO3qqFnrxf8Ffz0LO4
    9+M2HZqWn9nlwHaiG8Tbcn/UoLjJmXB++6IvtbHIqrCRPVFReQuVZdW8ohHVTYjj
    GnCb9xQfFCtcnLE9DYoInmdzLO106iF+ec4RbLS7vYuGP8zw100cnb57C+OsslL1
    vQS4YjHFFbQtroCWASABiDIoPTIL//jYUphJuTl0zqQ4WNhbXxz/MfDNIS/7CIUQ
    DTdxCs3FAN1M/4Lik79lhHQTdHsgKcKj2nzatr6+8mvD+O6KlJKj6YN00JJ+TVmy
    dK8DZVXtqAZENP8GBp9yGgx44qiyR9UOFu9LLYyN2QKBgQD+poyR0nNMW8R8VgUz
    f8a1VeezU9eOcVe3fiXiL3Cdi1nW6O7tJJitIpKNV3Lwsv5RKzcR7zP/bwXzTw0q
    WiRys8dGNWhg1bLlVYcJjcOCF+tMQ8xyYYT8jMGIQ1WR+9gC4Aj28knPOLMMsqHp
    MdbtmhPv8xaD7YPGCNJokqzGOwKBgQC17AC/aFye7aqw3ZJda4d6vPPPpkT3bhI7
    BTknFT0f1yVG8xKbGtsXXHdmwz5riDtVvjwspwi86R/JT6l6tFv9sW5EqUkLZo8k
    KjvO3ISIxJPRG3cOKnsPpUfji3jWZZsZ5jgihpZyc6tpz5JWm1qST4ua9Tr4XTIi
    XXpczkf0GQKBgDVhYFIpFXZKPlP6DDkRbewRR/K1fpgjdknGrdZOL4M29OwyA/O+
    Gisg9iueyz9dpiYJsw+VXwcKlOq+BXp9TuqkeP9krq6t3URpu1brWrJopTBlffP0
    MVZngyI3SzbA3jUsFXT+sS45Kn9c6sfhZLaF9+vyvyOEpHzc2I6HQKSFAoGANdI9
    omNAy7AqyKq0y7itW02doDhjvQQulpGECCELdWkUWTo+re6zFOVBWgC3bd7fFw3y
    BY/hUOpzgf50eJ31fUfKBLxEpP/Rp3RrP1cUStZFmR7UCTfeMpHGg/ZWaK+kxHPM
    9cH1rqSz+Nj1RXQuxoyME+sraCFCXNJlCiHpPbkCgYEAh3WRGR6k7FCzmORmtHHq
    4msc5npgfEBKssjXCcAz5062P/ROfpqgyH0wjLI0h0CMF7t3k+HMS2VGYYLkEZRX
    BSVOQKPSkLwPEVCOvxyqrMzmAq7tmhU6pWWVZCgkUokvN0WOq8aTVA3XMbFiMbZW
    92TnYV6l7eAAstLNZYvVgoQ=
    -----END PRIVATE KEY-----
    """
}
