// SPDX-License-Identifier: Apache-2.0
// See frame_socket.h.
#include "profiler/engine/comm/frame_socket.h"

#include <array>
#include <cerrno>
#include <memory>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace fourwalls::engine {

namespace {

constexpr std::uint32_t kMostBytes = 64u << 20; // a specification is some kilobytes
constexpr int kConnectMs = 1000;

struct FrameHead {
    std::uint32_t type = 0, bytes = 0;
};

bool waitFor(int descriptor, short events, int milliseconds)
{
    pollfd one{descriptor, events, 0};
    int found = 0;
    do found = poll(&one, 1, milliseconds);
    while (found < 0 && errno == EINTR);
    return found > 0;
}

} // namespace

FrameSocket::FrameSocket(int descriptor) : m_descriptor(descriptor)
{
    const int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval second{1, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

FrameSocket::~FrameSocket()
{
    if (m_descriptor >= 0) close(m_descriptor);
}

bool FrameSocket::send(FrameType type, std::string_view body)
{
    const FrameHead head{static_cast<std::uint32_t>(type), static_cast<std::uint32_t>(body.size())};
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    bytes.append(body);
    std::string_view rest = bytes;
    while (!rest.empty()) {
        const ssize_t sent = ::send(m_descriptor, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool FrameSocket::receive()
{
    std::array<char, 16384> block;
    while (true) {
        const ssize_t got = recv(m_descriptor, block.data(), block.size(), MSG_DONTWAIT);
        if (got > 0) {
            m_received.append(block.data(), static_cast<std::size_t>(got));
            continue;
        }
        if (got == 0) return false;
        if (errno == EINTR) continue;
        return errno == EAGAIN || errno == EWOULDBLOCK;
    }
}

std::optional<Frame> FrameSocket::next()
{
    FrameHead head;
    if (m_received.size() < sizeof head) return std::nullopt;
    std::memcpy(&head, m_received.data(), sizeof head);
    constexpr auto first = static_cast<std::uint32_t>(FrameType::Join),
                   last = static_cast<std::uint32_t>(FrameType::Leave);
    if (head.type < first || head.type > last || head.bytes > kMostBytes) {
        m_broken = true;
        return std::nullopt;
    }
    if (m_received.size() - sizeof head < head.bytes) return std::nullopt;
    Frame frame{static_cast<FrameType>(head.type), m_received.substr(sizeof head, head.bytes)};
    m_received.erase(0, sizeof head + head.bytes);
    return frame;
}

std::optional<Frame> awaitFrame(FrameSocket& socket, int milliseconds)
{
    while (true) {
        if (auto frame = socket.next()) return frame;
        if (socket.broken() || !waitFor(socket.descriptor(), POLLIN, milliseconds)) return std::nullopt;
        if (!socket.receive()) return socket.next();
    }
}

std::optional<FrameSocket> connectTo(const std::string& host, int port, std::string& failure)
{
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found); error != 0) {
        failure = gai_strerror(error);
        return std::nullopt;
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
    for (const addrinfo* address = found; address; address = address->ai_next) {
        const int descriptor = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, address->ai_protocol);
        if (descriptor < 0) continue;
        FrameSocket connection(descriptor);
        const int flags = fcntl(descriptor, F_GETFL);
        fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
        int error = connect(descriptor, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
        if (error == EINPROGRESS) {
            socklen_t size = sizeof error;
            error = ETIMEDOUT;
            if (waitFor(descriptor, POLLOUT, kConnectMs)) getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
        }
        if (error == 0) {
            fcntl(descriptor, F_SETFL, flags);
            return connection;
        }
        failure = std::strerror(error);
    }
    return std::nullopt;
}

int listenAt(int port)
{
    // One socket for both families; without IPv6, one for IPv4.
    for (const int family : {AF_INET6, AF_INET}) {
        const int descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (descriptor < 0) continue;
        const int on = 1, off = 0;
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in6 six{};
        sockaddr_in four{};
        const sockaddr* address = nullptr;
        socklen_t size = 0;
        if (family == AF_INET6) {
            setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
            six.sin6_family = AF_INET6;
            six.sin6_port = htons(static_cast<std::uint16_t>(port));
            address = reinterpret_cast<const sockaddr*>(&six);
            size = sizeof six;
        } else {
            four.sin_family = AF_INET;
            four.sin_port = htons(static_cast<std::uint16_t>(port));
            address = reinterpret_cast<const sockaddr*>(&four);
            size = sizeof four;
        }
        if (bind(descriptor, address, size) == 0 && listen(descriptor, SOMAXCONN) == 0) return descriptor;
        const bool taken = errno == EADDRINUSE;
        close(descriptor);
        if (taken) return -1;
    }
    return -1;
}

std::string ownAddress(int descriptor)
{
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    char host[NI_MAXHOST] = {};
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
        getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) !=
            0)
        return "127.0.0.1";
    std::string text = host;
    if (text.starts_with("::ffff:")) text.erase(0, 7); // IPv4 in the form of IPv6
    return text;
}

} // namespace fourwalls::engine
