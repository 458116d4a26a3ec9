// SPDX-License-Identifier: Apache-2.0
// See meeting_point.h: a rank's own side. A thread reads what rank 0's server says; everybody else waits for it.
#include "profiler/engine/comm/meeting_point.h"

#include "profiler/engine/comm/frame_socket.h"
#include "profiler/engine/comm/meeting_server.h"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace fourwalls::engine {

namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr int kAnswerMs = 2000; // for the first word of whoever listens at a port
constexpr auto kRetry = std::chrono::milliseconds(20);
constexpr int kPings = 8;

std::string ownPlace()
{
    char host[256] = {};
    if (gethostname(host, sizeof host - 1) != 0) host[0] = 0;
    return "process " + std::to_string(getpid()) + (host[0] ? std::string(" on ") + host : "");
}

} // namespace

struct MeetingPoint::Server {
    std::unique_ptr<MeetingServer> server;
};

struct MeetingPoint::Client {
    LaunchedRank self;
    std::chrono::milliseconds timeout{};
    std::string address;
    std::int64_t clockOffset = 0;

    std::mutex sending;
    FrameSocket socket;
    int wake = -1;
    std::thread thread;

    mutable std::mutex mutex;
    mutable std::condition_variable changed;
    std::set<std::string> asked;
    std::map<std::string, std::string> values;
    std::map<std::string, int> gathered; // of the thread that gathers
    std::optional<LostRank> lost;
    bool leaving = false;
    std::mutex telling; // while somebody is told, so that onLost() returns only when nobody is any more
    std::function<void(const LostRank&)> tell;

    Status connect(int ownPort);
    Status settleClocks();
    void loop();
    void take(const Frame& frame);
    void setLost(LostRank news);
    void lostServer(const std::string& what);
    bool send(FrameType type, std::string_view body = {})
    {
        const std::lock_guard lock(sending);
        return socket.send(type, body);
    }
};

Status MeetingPoint::Client::connect(int ownPort)
{
    const auto until = SteadyClock::now() + timeout;
    const std::string hello = FrameBody().add(self.world).add(self.rank).add(self.masterPort).add(ownPlace()).text();
    std::string failure = "nobody listens there";
    while (true) {
        for (int i = 0; i < kMeetingPorts && (i == 0 || SteadyClock::now() < until); ++i) {
            const int port = ownPort > 0 ? ownPort : self.masterPort + i;
            auto connection = connectTo(self.masterAddress, port, failure);
            if (!connection) continue;
            socket = std::move(*connection);
            if (!socket.send(FrameType::Join, hello)) continue;
            // The own server answers, however busy the machine is: asking again would look as if this rank had died.
            const auto answer = awaitFrame(socket, ownPort > 0 ? static_cast<int>(timeout.count()) : kAnswerMs);
            if (!answer || answer->type != FrameType::Welcome) continue; // somebody else's port
            address = ownAddress(socket.descriptor());
            return {};
        }
        if (SteadyClock::now() >= until)
            return Error{ErrorCode::Io, "rank 0 was not found there: " + failure,
                         self.masterAddress + ":" + std::to_string(self.masterPort),
                         "MASTER_ADDR and MASTER_PORT of the machine of rank 0"};
        std::this_thread::sleep_for(kRetry);
    }
}

// Rank 0's clock against the own one, from the quickest of some questions.
Status MeetingPoint::Client::settleClocks()
{
    std::int64_t quickest = std::numeric_limits<std::int64_t>::max();
    const auto until = SteadyClock::now() + timeout;
    for (int i = 0; i < kPings; ++i) {
        const std::int64_t sent = clockNs(CLOCK_MONOTONIC);
        socket.send(FrameType::Ping, FrameBody().add(sent).text());
        std::optional<Frame> answer;
        do { // signs of life come meanwhile, too
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - SteadyClock::now()).count();
            answer = left > 0 ? awaitFrame(socket, static_cast<int>(left)) : std::nullopt;
        } while (answer && answer->type != FrameType::Pong && (take(*answer), true));
        if (!answer) return Error{ErrorCode::Io, "rank 0 does not answer", self.masterAddress, "its messages"};
        const std::int64_t received = clockNs(CLOCK_MONOTONIC);
        FrameReader read(answer->body);
        read.number();
        const std::int64_t there = read.number();
        if (received - sent >= quickest) continue;
        quickest = received - sent;
        clockOffset = there - (sent + quickest / 2);
        // Processes of one machine read the same clock: what is left is how long the answer took.
        if (std::abs(clockOffset) <= quickest) clockOffset = 0;
    }
    return {};
}

void MeetingPoint::Client::loop()
{
    auto heard = SteadyClock::now(), beaten = heard;
    const auto interval = beatInterval(timeout);
    while (true) {
        pollfd watched[] = {{socket.descriptor(), POLLIN, 0}, {wake, POLLIN, 0}};
        poll(watched, 2, static_cast<int>(interval.count()));
        {
            const std::lock_guard lock(mutex);
            if (leaving) return;
        }
        const auto now = SteadyClock::now();
        if (watched[0].revents != 0) {
            heard = now;
            const bool open = socket.receive();
            while (const auto frame = socket.next()) take(*frame);
            if (!open || socket.broken()) return lostServer("its process ended");
        }
        if (now - beaten >= interval) {
            beaten = now;
            send(FrameType::Beat);
        }
        // A process that was stopped itself first reads what has come meanwhile.
        if (now - heard > timeout + interval) return lostServer(std::string("it ") + kNoSignOfLife);
    }
}

void MeetingPoint::Client::take(const Frame& frame)
{
    if (frame.type == FrameType::Lost) return setLost(lostFrom(frame.body));
    if (frame.type != FrameType::Value) return;
    FrameReader read(frame.body);
    const std::string name = read.text();
    const std::lock_guard lock(mutex);
    values[name] = read.text();
    changed.notify_all();
}

void MeetingPoint::Client::lostServer(const std::string& what)
{
    const std::int64_t now = clockNs(CLOCK_REALTIME);
    setLost({RankId{0}, now,
             Error{ErrorCode::Io, "rank 0 was lost at " + timeOfDay(now) + ": " + what, "rank 0",
                   "its own messages, or the system's log"},
             true});
}

void MeetingPoint::Client::setLost(LostRank news)
{
    const std::lock_guard quiet(telling);
    {
        const std::lock_guard lock(mutex);
        if (lost) return;
        lost = news;
        changed.notify_all();
    }
    if (const auto listener = std::exchange(tell, {})) listener(news);
}

Result<std::unique_ptr<MeetingPoint>> MeetingPoint::join(const LaunchedRank& self, std::chrono::milliseconds timeout)
{
    std::unique_ptr<MeetingPoint> point(new MeetingPoint);
    int ownPort = 0;
    if (self.rank == 0) {
        FOURWALLS_TRY_ASSIGN(auto server, MeetingServer::start(self.world, self.masterPort, timeout));
        ownPort = server->port();
        point->m_server = std::make_unique<Server>(Server{std::move(server)});
    }
    auto client = std::make_unique<Client>();
    client->self = self;
    client->timeout = timeout;
    FOURWALLS_TRY(client->connect(ownPort));
    FOURWALLS_TRY(client->settleClocks());
    client->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    client->thread = std::thread([c = client.get()] { c->loop(); });
    point->m_client = std::move(client);
    FOURWALLS_TRY(point->get("joined"));
    return point;
}

MeetingPoint::~MeetingPoint()
{
    if (m_client) {
        m_client->send(FrameType::Leave);
        {
            const std::lock_guard lock(m_client->mutex);
            m_client->leaving = true;
        }
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = write(m_client->wake, &one, sizeof one);
        m_client->thread.join();
        close(m_client->wake);
        m_client->socket = FrameSocket();
    }
    m_server.reset();
}

const LaunchedRank& MeetingPoint::self() const
{
    return m_client->self;
}

std::chrono::milliseconds MeetingPoint::timeout() const
{
    return m_client->timeout;
}

const std::string& MeetingPoint::localAddress() const
{
    return m_client->address;
}

std::int64_t MeetingPoint::clockOffsetNs() const
{
    return m_client->clockOffset;
}

void MeetingPoint::set(const std::string& name, const std::string& value)
{
    m_client->send(FrameType::Set, FrameBody().add(name).add(value).text());
}

void MeetingPoint::ask(const std::string& name)
{
    {
        const std::lock_guard lock(m_client->mutex);
        if (!m_client->asked.insert(name).second) return;
    }
    m_client->send(FrameType::Get, FrameBody().add(name).text());
}

bool MeetingPoint::has(const std::string& name) const
{
    const std::lock_guard lock(m_client->mutex);
    return m_client->values.contains(name);
}

Result<std::string> MeetingPoint::get(const std::string& name)
{
    ask(name);
    std::unique_lock lock(m_client->mutex);
    m_client->changed.wait(lock, [&] { return m_client->values.contains(name) || m_client->lost; });
    const auto found = m_client->values.find(name);
    if (found == m_client->values.end()) return m_client->lost->error;
    std::string value = std::move(found->second);
    m_client->values.erase(found);
    m_client->asked.erase(name);
    return value;
}

void MeetingPoint::awaitDespite(const std::string& name, RankId from, std::chrono::steady_clock::time_point deadline)
{
    const std::string left = leftName(from.value);
    ask(name);
    ask(left);
    std::unique_lock lock(m_client->mutex);
    m_client->changed.wait_until(lock, deadline, [&] {
        return m_client->values.contains(name) || m_client->values.contains(left) ||
               (m_client->lost && m_client->lost->rank.value == 0);
    });
}

Result<std::vector<std::string>> MeetingPoint::gather(const std::string& name, const std::string& value)
{
    const std::string base = name + "/" + std::to_string(m_client->gathered[name]++) + "/";
    set(base + std::to_string(self().rank), value);
    std::vector<std::string> values;
    if (self().rank == 0) {
        for (int rank = 0; rank < self().world; ++rank) ask(base + std::to_string(rank));
        for (int rank = 0; rank < self().world; ++rank) {
            FOURWALLS_TRY_ASSIGN(std::string one, get(base + std::to_string(rank)));
            values.push_back(std::move(one));
        }
        set(base + "all", "");
    }
    FOURWALLS_TRY(get(base + "all"));
    return values;
}

void MeetingPoint::fail(const Error& error)
{
    m_client->send(FrameType::Fail, lostBody({RankId{m_client->self.rank}, 0, error}));
}

std::optional<LostRank> MeetingPoint::lost() const
{
    const std::lock_guard lock(m_client->mutex);
    return m_client->lost;
}

std::optional<LostRank> MeetingPoint::awaitLost(std::chrono::milliseconds most) const
{
    std::unique_lock lock(m_client->mutex);
    m_client->changed.wait_for(lock, most, [this] { return m_client->lost.has_value(); });
    return m_client->lost;
}

void MeetingPoint::onLost(std::function<void(const LostRank&)> tell)
{
    const std::lock_guard quiet(m_client->telling);
    if (const auto already = lost()) {
        if (tell) tell(*already);
        return;
    }
    m_client->tell = std::move(tell);
}

} // namespace fourwalls::engine
