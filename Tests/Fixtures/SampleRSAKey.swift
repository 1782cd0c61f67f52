/// An RSA key of 2,048 bits that was made up for tests: `openssl genpkey -algorithm RSA`.
package enum SampleRSAKey {
  package static let pem = """
    -----BEGIN PRIVATE KEY-----
    MIIEvwIBADANBgkqhkiG9w0BAQEFAASCBKkwggSlAgEAAoIBAQCi2iHklS3iQ+IP
    v0yUoWF3JBAGTgiGmWge/Nwug4SMcn2lTAPcX9g9EEtQ6Krzx2VTfBGbhRsCihR1
    QcTrUsamTs2YRWo8rhpVZxA/0/f6YH+Lq9UGtQf2at9p+mVhNwD0aKvI8siVk5W6
    qruaQpFmdwVx2TJlLXeyTTshD4t12Nghk/Z7VzcACjN2UtNgyBLQy3kuylKaD5iG
    jyo6Ylsf6HqY3TVKwM5prc0/CqDE6HjONkXOMmIBp68L5aGHpFVOYTcfMpNBTfhD
    uqnWwkKNgQOrjEsD1eY4Idor2ea6PDnhMyJgPcX1lmDzoKdcblHFOgBXo9+D8gKH
    PQghBrihAgMBAAECggEABrbuvyba0aGnOwCnZC4elNPS/fzkA29k0yOYN9TADNhq
    +iX0YiGTirpWw1BskrOYfRo4UaIUgdohS3pkPP2t53fdU0IdcMC5oObTIoaXYBFF
    gQPwkHUQuHt3QxPfb+Qy27ZLIEnJCnMfhnxOqDwcFE5OVlTfFpE1hmUCeJ5US44N
    +N6ZMdlg+Wr+tVMoXEiF1eMXMzJIrNLtWQYraQ42zXIPemP5+6m6IOA0Fj+QqToM
    CtkgT5l+Cq6yOCU2FqWW/xxIfvczX4IthDAJ6Vg41DYUm9CBnh+guhLoXuD8aEjS
    pD9EOHT3FbvghyXG8QQjyE/TFNOu3HekGszpF2yqBwKBgQDMV6gykcZPmsT0cgk0
    cWvzzr8oOjxyyiiimkG/ac/cS65q/i4xXQj4gpAlL50FoUVPw5OUvdAxT7pzc49d
    reqprRWX4+GyiV58vt6IqjHT1TZj4CwpVMuYIivjLvScp4AQqQOZwSbkU6Z9iZSI
    t3VAAVcTCYZb+k6WVNiZh4m8uwKBgQDMBVzkokCZENxz/ih14xor8slP1q5x67LG
    XmnkeDdu7en7ehT/cmVKW812sKzKIjJRFCAADgSXN6jXN/JjYV/UJLwZMzqM7w2H
    M0zkFB/t9d1QDNRBlSc/ANJA54OaMlMKH2uRzkR6dX4M+H1jJPUT7tcgVtZ5NnET
    9AVrVLcYUwKBgQCJsuwqH6e2TwI4A3yGdYQciI6ySgQgCnC1miOCHIiw1+MSQHTa
    WOpJpJoEJQC4IYP2i0GxMvPPtv1a/V138FG4w2VQtISL7hvZDjoheCcZq4z6Yr7/
    nx+PRj+y2RqHUixvjaVagBl4NZJ0+Dg6pP4DAqQttPZwls1MaqKHWxmLLwKBgQDB
    1o6Ng0KQqx5o7h8O8jhZbRCrVDLldaSjJ+y/7x/ruwtFrJXqpYtq/JHXpMBmQ9s+
    gTpuEuN1sKIv6K3Ykhlz+3rjDnMgl7dorurs/9neQmyEs8uui8F/8I3SsKOuiwWu
    Zm/TVgBlwN+D/0tSOTjIOXIW/apD+9+vr3a+pPxYlQKBgQCuG7J1+tDWrtkDmNcp
    jjiWqFtfKhM9YZKlpI/NumvFWhKN5Wtnun3moeKfVn99bZwXn/Zzif88Bwfg9D0l
    eCHaM6arjXDjO34sCW9u+zREyb2vRu5p0Estb3MiAlwBgiG4+C+hSSCPZjzOkNye
    rIeAoekOYVHyMrzalcwJf/Kc0Q==
    -----END PRIVATE KEY-----
    """
}
