import TLS

/// Whom a client's connection trusts: rooms above name it without importing TLS.
package typealias ClientSecurity = TLSClientContext
