// SPDX-License-Identifier: Apache-2.0
// Small messages of a type and a text over a TCP connection, for the processes of one run (meeting_point.h). Numbers go
// in the machine's own byte order: all machines of a run are of one kind.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fourwalls::engine {

enum class FrameType : std::uint32_t {
    Join = 0x46571001, ///< also tells another program's connection from ours
    Welcome,
    Busy,
    Set,
    Get,
    Value,
    Ping,
    Pong,
    Beat,
    Fail,
    Lost,
    Leave
};

struct Frame {
    FrameType type{};
    std::string body;
};

/// Numbers and texts one behind the other.
class FrameBody {
public:
    FrameBody& add(std::int64_t number)
    {
        m_text.append(reinterpret_cast<const char*>(&number), sizeof number);
        return *this;
    }
    FrameBody& add(std::string_view text)
    {
        add(static_cast<std::int64_t>(text.size()));
        m_text.append(text);
        return *this;
    }
    const std::string& text() const { return m_text; }

private:
    std::string m_text;
};

/// Reads what FrameBody wrote; what is missing reads as 0 or as an empty text.
class FrameReader {
public:
    explicit FrameReader(std::string_view body) : m_rest(body) {}
    std::int64_t number()
    {
        std::int64_t value = 0;
        if (m_rest.size() < sizeof value) return 0;
        std::memcpy(&value, m_rest.data(), sizeof value);
        m_rest.remove_prefix(sizeof value);
        return value;
    }
    std::string text()
    {
        const auto size = static_cast<std::uint64_t>(number());
        const std::string_view found = m_rest.substr(0, size);
        m_rest.remove_prefix(found.size());
        return std::string(found);
    }

private:
    std::string_view m_rest;
};

/// One end of a connection. Not for several threads at once.
class FrameSocket {
public:
    FrameSocket() = default;
    explicit FrameSocket(int descriptor);
    FrameSocket(FrameSocket&& other) noexcept { *this = std::move(other); }
    FrameSocket& operator=(FrameSocket&& other) noexcept
    {
        std::swap(m_descriptor, other.m_descriptor);
        std::swap(m_broken, other.m_broken);
        std::swap(m_received, other.m_received);
        return *this;
    }
    ~FrameSocket();

    int descriptor() const { return m_descriptor; }
    /// False if the connection is gone or the other side has taken nothing for a second.
    bool send(FrameType type, std::string_view body = {});
    /// Takes what has arrived without waiting; false once the other side has closed.
    bool receive();
    /// The next frame that is complete. A frame that no run would send reads as the end: see broken().
    std::optional<Frame> next();
    bool broken() const { return m_broken; }

private:
    int m_descriptor = -1;
    bool m_broken = false;
    std::string m_received;
};

/// Waits for a frame; absent if the connection ended or the time is over.
std::optional<Frame> awaitFrame(FrameSocket& socket, int milliseconds);

/// Connects to a host by name or number; absent if nobody answers there within a second. failure: why.
std::optional<FrameSocket> connectTo(const std::string& host, int port, std::string& failure);
/// A socket that listens at the port of all addresses; -1 if it is taken.
int listenAt(int port);
/// The own address of a connection, in numbers.
std::string ownAddress(int descriptor);

} // namespace fourwalls::engine
