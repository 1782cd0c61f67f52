/// The payload of a template, checked once; every locale's pieces are made from it.
indirect enum TemplatePayload {
  case json([UInt8])
  case text(TemplateText, TemplateSource.Place, isShortened: Bool)
  case value(TemplateValue)
  case list([TemplatePayload])
  case map([(key: String, value: TemplatePayload)])
}
