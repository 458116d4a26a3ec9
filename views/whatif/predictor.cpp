// SPDX-License-Identifier: GPL-3.0-or-later
// See predictor.h.
#include "views/whatif/predictor.h"

#include "model/cost/cost_model.h"
#include "model/trace/in_memory_query.h"
#include "views/session/gui_call.h"

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

} // namespace

struct Predictor::Impl {
    /// Cost models by what they were made from.
    class Models {
    public:
        /// The model for this task, made now if there is none. Errors: those of CostModel::create and the presets.
        Result<cost::CostModel*> find(const PredictionTask& task)
        {
            std::string key = keyOf(task);
            const auto found =
                std::find_if(m_kept.begin(), m_kept.end(), [&](const Kept& kept) { return kept.key == key; });
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

    struct Question {
        quint64 request = 0;
        PredictionTask task;
    };

    /// A predicted step that is to get its trace.
    struct Unfinished {
        PredictionReply reply;
        std::shared_ptr<Prediction> prediction;
    };

    Predictor* q = nullptr;
    quint64 lastRequest = 0;                                      ///< GUI thread
    std::array<quint64, kSubjects> stepsDelivered{}, delivered{}; ///< GUI thread: replies to older ones are dropped

    std::mutex mutex; ///< guards what follows
    std::condition_variable wake;
    std::array<std::optional<Question>, kSubjects> waiting;
    std::array<std::optional<Unfinished>, kSubjects> unfinished; ///< the latest step of each, without its trace
    bool stopping = false;

    std::thread thread, finisher;

    /// Every step that was computed is shown, in order, not only the last: a hand may keep moving.
    void deliverStep(std::size_t subject, Unfinished item)
    {
        callOnGuiThread(q, [this, subject, item = std::move(item)] {
            quint64& last = stepsDelivered[subject];
            if (item.reply.request < last) return;
            last = item.reply.request;
            emit q->stepKnown(static_cast<Subject>(subject), item.reply);
            // A large plan's trace takes as long as a frame: it waits until this one is painted, and only the latest
            // step gets it.
            const auto finishIt = [this, subject, item] {
                const std::scoped_lock lock(mutex);
                unfinished[subject] = item;
                wake.notify_all();
            };
            callOnGuiThread(q, finishIt, Qt::LowEventPriority);
        });
    }

    void deliver(std::size_t subject, PredictionReply reply)
    {
        callOnGuiThread(q, [this, subject, reply = std::move(reply)] {
            if (reply.request < delivered[subject]) return;
            delivered[subject] = reply.request;
            emit q->answered(static_cast<Subject>(subject), reply);
        });
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
            return deliver(subject, std::move(reply));
        }
        auto prediction = std::make_shared<Prediction>();
        prediction->step = std::move(*predicted);
        reply.step = std::shared_ptr<const cost::PredictedStep>(prediction, &prediction->step);
        reply.milliseconds = elapsed();
        deliverStep(subject, {std::move(reply), std::move(prediction)});
    }

    void complete(std::size_t subject, Unfinished latest)
    {
        const auto begin = std::chrono::steady_clock::now();
        const Status finished = finish(*latest.prediction);
        PredictionReply& reply = latest.reply;
        reply.milliseconds +=
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        if (finished.ok())
            reply.prediction = std::move(latest.prediction);
        else
            reply.error = finished.error();
        deliver(subject, std::move(reply));
    }

    static Status finish(Prediction& prediction)
    {
        FOURWALLS_TRY_ASSIGN(prediction.trace, cost::summaryOf(prediction.step));
        InMemoryTraceQuery query(prediction.trace);
        FOURWALLS_TRY_ASSIGN(prediction.metrics, computeMetrics(query));
        return {};
    }

    /// The loop of a thread: takes what is the latest of `todo`, the sliders' first.
    template <class Item, class Work>
    void serve(std::array<std::optional<Item>, kSubjects>& todo, Work work)
    {
        std::unique_lock lock(mutex);
        for (;;) {
            const auto isThere = [](const std::optional<Item>& item) { return item.has_value(); };
            wake.wait(lock, [&] { return stopping || std::any_of(todo.begin(), todo.end(), isThere); });
            if (stopping) return;
            const auto found = std::find_if(todo.begin(), todo.end(), isThere);
            Item item = std::move(**found);
            found->reset();
            lock.unlock();
            work(static_cast<std::size_t>(found - todo.begin()), std::move(item));
            lock.lock();
        }
    }

    void run()
    {
        Models models;
        serve(waiting, [&](std::size_t subject, Question question) { answer(models, subject, question); });
    }

    void runFinisher()
    {
        serve(unfinished, [this](std::size_t subject, Unfinished item) { complete(subject, std::move(item)); });
    }
};

Predictor::Predictor(QObject* parent) : QObject(parent), m_impl(std::make_unique<Impl>())
{
    m_impl->q = this;
    m_impl->thread = std::thread([impl = m_impl.get()] { impl->run(); });
    m_impl->finisher = std::thread([impl = m_impl.get()] { impl->runFinisher(); });
}

Predictor::~Predictor()
{
    {
        const std::scoped_lock lock(m_impl->mutex);
        m_impl->stopping = true;
    }
    m_impl->wake.notify_all();
    m_impl->thread.join();
    m_impl->finisher.join();
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
