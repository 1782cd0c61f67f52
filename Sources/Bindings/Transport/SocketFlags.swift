import CLinux
import Glibc

enum SocketFlags {
  static let all = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
}
