// SPDX-License-Identifier: Apache-2.0
// See meeting_server.h. One thread does everything, so nothing but the end needs a lock.
#include "profiler/engine/comm/meeting_server.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fourwalls::engine {

namespace {

std::string rankText(int rank, const std::string& place)
{
    return "rank " + std::to_string(rank) + (place.empty() ? "" : " (" + place + ")");
}

std::string seconds(std::chrono::milliseconds time)
{
    char text[32];
    std::snprintf(text, sizeof text, "%g s", static_cast<double>(time.count()) * 1e-3);
    return text;
}

} // namespace

std::chrono::milliseconds beatInterval(std::chrono::milliseconds timeout)
{
    return std::clamp<std::chrono::milliseconds>(timeout / 10, std::chrono::milliseconds(20), std::chrono::seconds(2));
}

std::string leftName(int rank)
{
    return "left/" + std::to_string(rank);
}

std::string timeOfDay(std::int64_t unixNs)
{
    const std::time_t whole = unixNs / 1'000'000'000;
    std::tm day{};
    gmtime_r(&whole, &day);
    char text[48];
    std::snprintf(text, sizeof text, "%02d:%02d:%02d.%03d UTC", day.tm_hour, day.tm_min, day.tm_sec,
                  static_cast<int>(unixNs / 1'000'000 % 1000));
    return text;
}

std::string lostBody(const LostRank& lost)
{
    return FrameBody()
        .add(lost.rank.value)
        .add(lost.unixNs)
        .add(static_cast<std::int64_t>(lost.error.code))
        .add(lost.error.what)
        .add(lost.error.where)
        .add(lost.error.hint)
        .add(lost.gone ? 1 : 0)
        .text();
}

LostRank lostFrom(std::string_view body)
{
    FrameReader read(body);
    LostRank lost;
    lost.rank = RankId{static_cast<std::int32_t>(read.number())};
    lost.unixNs = read.number();
    lost.error.code = static_cast<ErrorCode>(read.number());
    lost.error.what = read.text();
    lost.error.where = read.text();
    lost.error.hint = read.text();
    lost.gone = read.number() != 0;
    return lost;
}

Result<std::unique_ptr<MeetingServer>> MeetingServer::start(int world, int firstPort, std::chrono::milliseconds timeout)
{
    for (int port = firstPort; port < std::min(firstPort + kMeetingPorts, 65536); ++port)
        if (const int listener = listenAt(port); listener >= 0)
            return std::unique_ptr<MeetingServer>(new MeetingServer(world, firstPort, port, listener, timeout));
    return Error{ErrorCode::Io, "all ports from " + std::to_string(firstPort) + " on are taken", "MASTER_PORT",
                 "another MASTER_PORT"};
}

MeetingServer::MeetingServer(int world, int firstPort, int port, int listener, std::chrono::milliseconds timeout)
    : m_world(world)
    , m_firstPort(firstPort)
    , m_port(port)
    , m_listener(listener)
    , m_wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
    , m_timeout(timeout)
    , m_thread([this] { loop(); })
{}

MeetingServer::~MeetingServer()
{
    {
        std::unique_lock lock(m_mutex);
        const auto begin = Clock::now();
        while (!m_over) { // a rank may be lost while the others are waited for
            const auto until = m_lostAt.value_or(begin) + m_timeout;
            if (Clock::now() >= until) break;
            m_changed.wait_until(lock, until);
        }
        m_closing = true;
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(m_wake, &one, sizeof one);
    m_thread.join();
    close(m_listener);
    close(m_wake);
}

bool MeetingServer::allLeft() const
{
    return std::all_of(m_peers.begin(), m_peers.end(), [](const auto& peer) { return peer->rank < 0 || peer->left; });
}

void MeetingServer::loop()
{
    while (true) {
        {
            const std::lock_guard lock(m_mutex);
            if (m_closing) return;
        }
        std::vector<pollfd> watched{{m_listener, POLLIN, 0}, {m_wake, POLLIN, 0}};
        for (const auto& peer : m_peers) watched.push_back({peer->socket.descriptor(), POLLIN, 0});
        poll(watched.data(), watched.size(), static_cast<int>(beatInterval(m_timeout).count()));
        for (std::size_t i = 2; i < watched.size(); ++i) {
            if (watched[i].revents == 0) continue;
            Peer& peer = *m_peers[i - 2];
            const bool open = peer.socket.receive();
            while (const auto frame = peer.socket.next()) take(peer, *frame);
            if (!open || peer.socket.broken()) gone(peer, "its process ended");
        }
        std::erase_if(m_peers, [](const auto& peer) { return peer->socket.descriptor() < 0; });
        if (watched[0].revents != 0)
            if (const int descriptor = accept4(m_listener, nullptr, nullptr, SOCK_CLOEXEC); descriptor >= 0) {
                auto peer = std::make_unique<Peer>();
                peer->socket = FrameSocket(descriptor);
                peer->heard = Clock::now();
                m_peers.push_back(std::move(peer));
            }
        lookAround();
        const bool over = allLeft() && (static_cast<int>(m_came.size()) == m_world || m_lost);
        const std::lock_guard lock(m_mutex);
        m_over = over;
        if (over) m_changed.notify_all();
    }
}

// Signs of life, given and missed.
void MeetingServer::lookAround()
{
    const auto now = Clock::now();
    if (now - m_lastBeat >= beatInterval(m_timeout)) {
        m_lastBeat = now;
        for (const auto& peer : m_peers)
            if (peer->rank >= 0 && !peer->left) peer->socket.send(FrameType::Beat);
    }
    for (const auto& peer : m_peers)
        if (peer->rank >= 0 && !peer->left && now - peer->heard > m_timeout) {
            gone(*peer, std::string("it ") + kNoSignOfLife + " for " + seconds(m_timeout));
            peer->left = true;
        }
    if (static_cast<int>(m_came.size()) == m_world || m_lost || now - m_begin <= m_timeout) return;
    std::string missing;
    int first = -1;
    for (int rank = 0; rank < m_world; ++rank) {
        if (m_came.contains(rank)) continue;
        if (first < 0) first = rank;
        missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    }
    report({RankId{first}, clockNs(CLOCK_REALTIME),
            Error{ErrorCode::Io, "rank " + missing + " did not come within " + seconds(m_timeout), "start of the ranks",
                  "the messages of the launcher, or a longer --rank-timeout"}});
}

void MeetingServer::take(Peer& peer, const Frame& frame)
{
    peer.heard = Clock::now();
    FrameReader read(frame.body);
    switch (frame.type) {
    case FrameType::Join: join(peer, frame); break;
    case FrameType::Set: {
        const std::string name = read.text();
        set(name, read.text());
        break;
    }
    case FrameType::Get: {
        const std::string name = read.text();
        if (const auto found = m_values.find(name); found != m_values.end())
            peer.socket.send(FrameType::Value, FrameBody().add(name).add(found->second).text());
        else
            m_asked[name].push_back(peer.rank);
        break;
    }
    case FrameType::Ping:
        peer.socket.send(FrameType::Pong, FrameBody().add(read.number()).add(clockNs(CLOCK_MONOTONIC)).text());
        break;
    case FrameType::Fail: {
        LostRank lost = lostFrom(frame.body);
        lost.rank = RankId{peer.rank};
        lost.unixNs = clockNs(CLOCK_REALTIME);
        report(lost);
        break;
    }
    case FrameType::Leave:
        peer.left = true;
        if (peer.rank >= 0) set(leftName(peer.rank), "");
        break;
    default: break;
    }
}

void MeetingServer::join(Peer& peer, const Frame& frame)
{
    FrameReader read(frame.body);
    const auto world = read.number(), rank = read.number(), firstPort = read.number();
    if (world != m_world || firstPort != m_firstPort || rank < 0 || rank >= m_world ||
        m_came.contains(static_cast<int>(rank))) {
        peer.socket.send(FrameType::Busy); // a rank of another run, whose ports overlap with these
        return;
    }
    peer.rank = static_cast<int>(rank);
    peer.place = read.text();
    peer.socket.send(FrameType::Welcome);
    if (m_lost) peer.socket.send(FrameType::Lost, lostBody(*m_lost));
    m_came.insert(peer.rank);
    if (static_cast<int>(m_came.size()) == m_world) set("joined", "");
}

void MeetingServer::set(const std::string& name, const std::string& value)
{
    m_values[name] = value;
    const auto waiting = m_asked.find(name);
    if (waiting == m_asked.end()) return;
    const std::string body = FrameBody().add(name).add(value).text();
    for (const int rank : waiting->second)
        for (const auto& peer : m_peers)
            if (peer->rank == rank) peer->socket.send(FrameType::Value, body);
    m_asked.erase(waiting);
}

// The connection is not used any more.
void MeetingServer::gone(Peer& peer, std::string what)
{
    if (peer.rank >= 0 && !peer.left) {
        const std::int64_t now = clockNs(CLOCK_REALTIME);
        report({RankId{peer.rank}, now,
                Error{ErrorCode::Io, rankText(peer.rank, peer.place) + " was lost at " + timeOfDay(now) + ": " + what,
                      "rank " + std::to_string(peer.rank), "its own messages, or the system's log"},
                true});
    }
    peer.left = true;
    peer.socket = FrameSocket();
    if (peer.rank >= 0) set(leftName(peer.rank), "");
}

void MeetingServer::report(const LostRank& lost)
{
    if (m_lost) return;
    m_lost = lost;
    {
        const std::lock_guard lock(m_mutex);
        m_lostAt = Clock::now();
        m_changed.notify_all();
    }
    const std::string body = lostBody(lost);
    for (const auto& peer : m_peers)
        if (peer->rank >= 0 && !peer->left && peer->socket.descriptor() >= 0) peer->socket.send(FrameType::Lost, body);
}

} // namespace fourwalls::engine
