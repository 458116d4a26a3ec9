// SPDX-License-Identifier: GPL-3.0-or-later
// See predictor.h.
#include "views/whatif/predictor.h"

#include "model/trace/in_memory_query.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace fourwalls::views {

namespace {

constexpr int kSubjects = 2;
constexpr std::size_t kMostModels = 16; ///< a sequence slider visits several

/// Cost models by what they were made from.
class Models {
public:
    /// The model for this task, made now if there is none. Errors: those of CostModel::create and the presets.
    Result<cost::CostModel*> find(const PredictionTask& task)
    {
        std::string key = keyOf(task);
        const auto found = std::find_if(m_kept.begin(), m_kept.end(), [&](const Kept& kept) { return kept.key == key; });
        if (found != m_kept.end()) {
            m_kept.splice(m_kept.begin(), m_kept, found);
            return &m_kept.front().model;
        }
        FOURWALLS_TRY_ASSIGN(const FrameworkPreset framework, loadFramework(task.spec.framework));
        std::shared_ptr<const Calibration> calibration = task.calibration;
        if (!calibration) {
            FOURWALLS_TRY_ASSIGN(calibration, published());
        }
        FOURWALLS_TRY_ASSIGN(cost::CostModel model, cost::CostModel::create(task.spec, framework, *calibration));
        m_kept.push_front({std::move(key), calibration, std::move(model)});
        if (m_kept.size() > kMostModels) m_kept.pop_back();
        return &m_kept.front().model;
    }

private:
    struct Kept {
        std::string key;
        std::shared_ptr<const Calibration> calibration; ///< kept alive: the key names its address
        cost::CostModel model;
    };

    static std::string keyOf(const PredictionTask& task)
    {
        // Plan and batch are given with every question; all else is built into the model.
        RunSpec spec = task.spec;
        spec.plan = {};
        spec.training.batch = 1;
        return std::to_string(reinterpret_cast<std::uintptr_t>(task.calibration.get())) + toJson(spec);
    }

    Result<std::shared_ptr<const Calibration>> published()
    {
        if (!m_published) {
            FOURWALLS_TRY_ASSIGN(Calibration calibration, loadCalibration("published"));
            m_published = std::make_shared<const Calibration>(std::move(calibration));
        }
        return m_published;
    }

    std::list<Kept> m_kept; ///< last used first
    std::shared_ptr<const Calibration> m_published;
};

} // namespace

struct Predictor::Impl {
    struct Question {
        quint64 request = 0;
        PredictionTask task;
    };

    Predictor* q = nullptr;
    quint64 lastRequest = 0; ///< GUI thread
    std::array<quint64, kSubjects> delivered{}; ///< GUI thread: replies to older ones are dropped

    std::mutex mutex; ///< guards what follows
    std::condition_variable wake;
    std::array<std::optional<Question>, kSubjects> waiting;
    bool stopping = false;

    std::thread thread;

    bool isSuperseded(std::size_t subject)
    {
        const std::scoped_lock lock(mutex);
        return stopping || waiting[subject].has_value();
    }

    void deliver(std::size_t subject, PredictionReply reply, bool onlyStep)
    {
        QMetaObject::invokeMethod(
            q,
            [this, subject, reply = std::move(reply), onlyStep] {
                // A hand that keeps moving sees every step that was computed, in order, not only the last.
                if (reply.request < delivered[subject]) return;
                delivered[subject] = reply.request;
                if (onlyStep)
                    emit q->stepKnown(static_cast<Subject>(subject), reply);
                else
                    emit q->answered(static_cast<Subject>(subject), reply);
            },
            Qt::QueuedConnection);
    }

    void answer(Models& models, std::size_t subject, const Question& question)
    {
        const auto begin = std::chrono::steady_clock::now();
        const auto elapsed = [begin] {
            return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        };
        PredictionReply reply;
        reply.request = question.request;
        auto predicted = [&]() -> Result<cost::PredictedStep> {
            FOURWALLS_TRY_ASSIGN(cost::CostModel* const model, models.find(question.task));
            return cost::predictStep(*model, question.task.spec);
        }();
        if (!predicted) {
            reply.error = predicted.error();
            reply.milliseconds = elapsed();
            return deliver(subject, std::move(reply), false);
        }
        auto prediction = std::make_shared<Prediction>();
        prediction->step = std::move(*predicted);
        reply.step = std::shared_ptr<const cost::PredictedStep>(prediction, &prediction->step);
        reply.milliseconds = elapsed();
        deliver(subject, reply, true);

        // A large plan's trace takes longer than a frame: not for a slider that has moved on.
        if (isSuperseded(subject)) return;
        const Status finished = finish(*prediction);
        reply.milliseconds = elapsed();
        if (finished.ok())
            reply.prediction = std::move(prediction);
        else
            reply.error = finished.error();
        deliver(subject, std::move(reply), false);
    }

    static Status finish(Prediction& prediction)
    {
        FOURWALLS_TRY_ASSIGN(prediction.trace, cost::traceOf(prediction.step));
        InMemoryTraceQuery query(prediction.trace);
        FOURWALLS_TRY_ASSIGN(prediction.metrics, computeMetrics(query));
        return {};
    }

    void run()
    {
        Models models;
        std::unique_lock lock(mutex);
        for (;;) {
            wake.wait(lock, [this] {
                return stopping || std::any_of(waiting.begin(), waiting.end(), [](const auto& w) { return w.has_value(); });
            });
            if (stopping) return;
            // What a hand waits for comes first.
            for (std::size_t subject = 0; subject < waiting.size(); ++subject) {
                if (!waiting[subject]) continue;
                const Question question = std::move(*waiting[subject]);
                waiting[subject].reset();
                lock.unlock();
                answer(models, subject, question);
                lock.lock();
                break;
            }
        }
    }
};

Predictor::Predictor(QObject* parent) : QObject(parent), m_impl(std::make_unique<Impl>())
{
    m_impl->q = this;
    m_impl->thread = std::thread([impl = m_impl.get()] { impl->run(); });
}

Predictor::~Predictor()
{
    {
        const std::scoped_lock lock(m_impl->mutex);
        m_impl->stopping = true;
    }
    m_impl->wake.notify_all();
    m_impl->thread.join();
}

quint64 Predictor::ask(Subject subject, PredictionTask task)
{
    const auto index = static_cast<std::size_t>(subject);
    const quint64 request = ++m_impl->lastRequest;
    {
        const std::scoped_lock lock(m_impl->mutex);
        m_impl->waiting[index] = Impl::Question{request, std::move(task)};
    }
    m_impl->wake.notify_all();
    return request;
}

} // namespace fourwalls::views
