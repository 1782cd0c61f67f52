import CMicrohttpd

package enum HTTPServerLibraryVersion {
  /// The libmicrohttpd that is loaded at run time: `0.9.75`.
  package static var string: String { String(cString: MHD_get_version()) }
}
