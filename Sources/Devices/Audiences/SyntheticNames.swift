/// Given names in the script of each language; the regions exercise BCP 47 fallback.
enum SyntheticNames {
  struct Locale: Sendable {
    let tag: String
    let timeZone: String
    let names: [String]
  }

  static let locales: [Locale] = [
    Locale(tag: "en", timeZone: "America/New_York", names: english),
    Locale(tag: "en-US", timeZone: "America/Los_Angeles", names: english),
    Locale(tag: "en-GB", timeZone: "Europe/London", names: english),
    Locale(tag: "en-AU", timeZone: "Australia/Sydney", names: english),
    Locale(tag: "zh-Hans", timeZone: "Asia/Shanghai", names: simplifiedChinese),
    Locale(tag: "zh-Hans-CN", timeZone: "Asia/Shanghai", names: simplifiedChinese),
    Locale(tag: "zh-Hant", timeZone: "Asia/Taipei", names: traditionalChinese),
    Locale(tag: "zh-Hant-TW", timeZone: "Asia/Taipei", names: traditionalChinese),
    Locale(tag: "zh-Hant-HK", timeZone: "Asia/Hong_Kong", names: traditionalChinese),
    Locale(tag: "ja", timeZone: "Asia/Tokyo", names: japanese),
    Locale(tag: "ja-JP", timeZone: "Asia/Tokyo", names: japanese),
    Locale(tag: "ko", timeZone: "Asia/Seoul", names: korean),
    Locale(tag: "ko-KR", timeZone: "Asia/Seoul", names: korean),
    Locale(tag: "es", timeZone: "Europe/Madrid", names: spanish),
    Locale(tag: "es-MX", timeZone: "America/Mexico_City", names: spanish),
    Locale(tag: "es-419", timeZone: "America/Bogota", names: spanish),
    Locale(tag: "pt-BR", timeZone: "America/Sao_Paulo", names: portuguese),
    Locale(tag: "pt-BR", timeZone: "America/Manaus", names: portuguese),
    Locale(tag: "ar", timeZone: "Asia/Riyadh", names: arabic),
    Locale(tag: "ar-EG", timeZone: "Africa/Cairo", names: arabic),
  ]

  private static let english = [
    "Ada", "Ben", "Chloe", "Dylan", "Emma", "Finn", "Grace", "Harry", "Isla", "Jack", "Kate",
    "Leo", "Mia", "Noah", "Olivia", "Poppy", "Quinn", "Ruby", "Sam", "Theo", "Zoë", "O'Brien",
    "Anne-Marie", "J. R. \"Bob\" Dobbs",
  ]
  private static let simplifiedChinese = [
    "王伟", "李娜", "张敏", "刘洋", "陈静", "杨帆", "赵磊", "黄丽", "周杰", "吴倩", "徐强", "孙悦",
    "马超", "朱琳", "胡军", "郭雪",
  ]
  private static let traditionalChinese = [
    "陳怡君", "林志豪", "黃雅婷", "張家豪", "李淑芬", "王俊傑", "吳美玲", "劉建宏", "蔡佩珊", "楊宗翰",
    "許雅雯", "鄭凱文",
  ]
  private static let japanese = [
    "さくら", "ゆうき", "美咲", "翔太", "陽菜", "大輔", "ハルカ", "健太", "あいこ", "蓮", "結衣", "直樹",
    "千尋", "ケンジ",
  ]
  private static let korean = [
    "지민", "서연", "민준", "하은", "도윤", "수빈", "예준", "지우", "현우", "채원", "은지", "태현",
  ]
  private static let spanish = [
    "Sofía", "Mateo", "Valentina", "Santiago", "Lucía", "Íñigo", "María José", "Andrés", "Begoña",
    "Nicolás", "Ximena", "José Ángel",
  ]
  private static let portuguese = [
    "João", "Maria", "Antônio", "Letícia", "Luís", "Fernanda", "Estêvão", "Conceição", "Thiago",
    "Camila", "Vinícius", "Patrícia",
  ]
  private static let arabic = [
    "محمد", "فاطمة", "أحمد", "نور", "يوسف", "مريم", "عمر", "ليلى", "خالد", "سارة", "عبد الله",
    "هدى",
  ]
}
