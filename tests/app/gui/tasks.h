// SPDX-License-Identifier: GPL-3.0-or-later
// Eleven of the twelve things that one does all day in a profiler, as a person does them here: docs/tasks.md has the table. Each answer is
// worked out with SQL from the file and has to stand on the screen.
#pragma once

#include "tests/app/gui/task_user.h"
#include "views/base/analysis_view.h"
#include "views/timeline/area_panel.h"
#include "views/timeline/timeline_canvas.h"
#include "views/timeline/timeline_view.h"
#include "views/view_registry.h"
#include "views/words/format.h"
#include "views/words/words.h"
#ifndef Q_MOC_RUN // moc cannot read the standard library's headers of threads
#include "model/store/trace_file.h"
#include "model/trace/user_query.h"
#endif

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>

#include <functional>
#include <vector>

namespace fourwalls::gui::test {

/// The traces that the tasks are done on, imported or unpacked into a folder of their own.
class TaskTraces {
public:
    bool make()
    {
        const QString data = QStringLiteral(FOURWALLS_SOURCE_DIR "/tests/data/import/");
        const QString ranks = data + QStringLiteral("Megatron-LM/tp2/result/");
        job = import(QStringLiteral("job"), {ranks + QStringLiteral("0"), ranks + QStringLiteral("1")});
        stacks = import(QStringLiteral("stacks"),
                        {data + QStringLiteral("TraceLens/inference/vllm_decode_full/graph_execution.json.gz")});
        snapshot = import(QStringLiteral("snapshot"),
                          {data + QStringLiteral("MAGMA27__assignment2-systems/memory_snapshot.pickle")});
        steps = unpack(QStringLiteral("gpt"));
        straggler = unpack(QStringLiteral("straggler"));
        other = unpack(QStringLiteral("straggler_without"));
        return !job.isEmpty() && !stacks.isEmpty() && !snapshot.isEmpty() && !steps.isEmpty() && !straggler.isEmpty() &&
               !other.isEmpty();
    }

    QString job;       ///< two ranks of a Megatron-LM job, with kernels, launches and NCCL
    QString stacks;    ///< with Python frames
    QString snapshot;  ///< of PyTorch's allocator
    QString steps;     ///< several steps of a GPT
    QString straggler; ///< four ranks, one of them slow
    QString other;     ///< the same job without the slow one

    /// The first value of an answer.
    static std::optional<std::int64_t> number(const QString& trace, const QString& sql)
    {
        const auto row = firstRow(trace, sql);
        return row.empty() || !std::holds_alternative<std::int64_t>(row[0])
                   ? std::nullopt
                   : std::optional(std::get<std::int64_t>(row[0]));
    }
    static QString text(const QString& trace, const QString& sql)
    {
        const auto row = firstRow(trace, sql);
        return row.empty() || !std::holds_alternative<std::string>(row[0])
                   ? QString()
                   : QString::fromStdString(std::get<std::string>(row[0]));
    }

    /// As the steps' table has them: of the first measured steps.
    static QStringList stepTimes(const QString& trace, std::size_t most)
    {
        QStringList times;
        auto opened = store::openTrace(QFile::encodeName(trace).toStdString());
        const auto steps = opened.ok() ? (*opened)->jobSteps() : Result<std::vector<JobStep>>(opened.error());
        for (std::size_t i = 0; steps.ok() && i < std::min(most, steps->size()); ++i)
            times << views::formatDuration((*steps)[i].range.length());
        return times;
    }

private:
    static std::vector<UserValue> firstRow(const QString& trace, const QString& sql)
    {
        auto opened = store::openTrace(QFile::encodeName(trace).toStdString());
        if (!opened.ok()) return {};
        UserQuery query;
        query.text = sql.toStdString();
        const auto answer = askInSql(**opened, query);
        if (!answer.ok()) qWarning("%s", answer.error().message().c_str());
        return answer.ok() && !answer->rows.empty() ? answer->rows[0] : std::vector<UserValue>();
    }
    QString import(const QString& name, const QStringList& from) const
    {
        const QString made = m_folder.filePath(name + QStringLiteral(".fourwalls"));
        QProcess process;
        process.start(QStringLiteral(FOURWALLS_BIN_DIR "/fourwalls-cli"),
                      QStringList{QStringLiteral("import")} + from + QStringList{QStringLiteral("-o"), made});
        return process.waitForFinished(120'000) && process.exitCode() == 0 ? made : QString();
    }
    QString unpack(const QString& name) const
    {
        QFile packed(QStringLiteral(FOURWALLS_SOURCE_DIR "/resources/demos/%1.fourwalls.z").arg(name));
        const QString made = m_folder.filePath(name + QStringLiteral(".fourwalls"));
        QFile file(made);
        if (!packed.open(QIODevice::ReadOnly) || !file.open(QIODevice::WriteOnly)) return {};
        file.write(qUncompress(packed.readAll()));
        return made;
    }

    QTemporaryDir m_folder;
};

struct Task {
    const char* name;
    QStringList traces; ///< the last one is in front, as after opening it
    int inputs;         ///< that it takes here; the peer's are in docs/tasks.md
    /// What is so already when the stopwatch starts.
    std::function<void(TaskUser&)> prepare;
    /// Does it; returns what has to be on the screen then.
    std::function<QStringList(TaskUser&)> act;
};

inline TaskResult runTask(const Task& task)
{
    TaskUser user([](const QString& path) { return store::openTrace(QFile::encodeName(path).toStdString()); },
                  task.traces);
    if (task.prepare) task.prepare(user);
    user.begin();
    return user.end(task.act(user));
}

namespace tasks {

inline QString duration(const std::optional<std::int64_t>& ns)
{
    return ns ? views::formatDuration(Duration{*ns}) : QString();
}

inline void toTimeline(TaskUser& user)
{
    user.press(QStringLiteral("Timeline"));
}
inline void toTheLongestKernel(TaskUser& user)
{
    toTimeline(user);
    user.key(Qt::Key_L, Qt::ShiftModifier);
}
inline views::TimelineCanvas* canvasOf(TaskUser& user)
{
    auto* timeline = user.view<views::TimelineView>();
    return timeline ? &timeline->canvas() : nullptr;
}
/// In the middle of the selected slice.
inline QPoint selectedPlace(TaskUser& user)
{
    const views::TimelineCanvas* canvas = canvasOf(user);
    return canvas ? canvas->spokenPlace(0).center() : QPoint();
}

} // namespace tasks

inline std::vector<Task> allTasks(const TaskTraces& traces)
{
    using namespace tasks;
    const auto sql = [](const QString& trace, const char* query) {
        return TaskTraces::number(trace, QString::fromLatin1(query));
    };
    std::vector<Task> all;
    all.push_back({"find the longest kernel", {traces.job}, 2, {}, [&traces, sql](TaskUser& user) {
                       toTheLongestKernel(user);
                       return QStringList{duration(
                           sql(traces.job, "SELECT max(duration_ns) FROM named_slices WHERE kind = 'kernel'"))};
                   }});
    all.push_back({"who launched this kernel", {traces.job}, 1, toTheLongestKernel, [](TaskUser& user) {
                       user.click(canvasOf(user), selectedPlace(user));
                       return QStringList{QStringLiteral("launched by"), QStringLiteral("cudaLaunchKernel on ")};
                   }});
    all.push_back({"the time in NCCL in a range", {traces.job}, 1, toTimeline, [](TaskUser& user) {
                       const QRect plot = canvasOf(user)->plotRect();
                       user.drag(canvasOf(user), {plot.left() + 20, plot.top() + 8},
                                 {plot.right() - 20, plot.bottom() - 8}, Qt::ControlModifier);
                       return QStringList{QStringLiteral("communication ")};
                   }});
    all.push_back({"how often a kernel runs", {traces.job}, 1, toTheLongestKernel, [](TaskUser& user) {
                       user.click(canvasOf(user), selectedPlace(user));
                       return QStringList{QStringLiteral(" of its name here")};
                   }});
    all.push_back(
        {"the gap before the optimizer", {traces.job}, 3, toTimeline, [&traces, sql](TaskUser& user) {
             user.key(Qt::Key_F, Qt::ControlModifier);
             user.type(QStringLiteral("Optimizer.step"));
             user.key(Qt::Key_Return);
             return QStringList{
                 QStringLiteral("empty before"),
                 duration(sql(traces.job,
                              "WITH o AS (SELECT * FROM named_slices WHERE name LIKE '%Optimizer.step%' ORDER "
                              "BY start_ns LIMIT 1) SELECT o.start_ns - (SELECT max(p.start_ns + "
                              "p.duration_ns) FROM named_slices p WHERE p.rank = o.rank AND p.track = o.track "
                              "AND p.lane = o.lane AND p.start_ns < o.start_ns) FROM o"))};
         }});
    all.push_back({"compare two steps", {traces.steps}, 1, {}, [&traces](TaskUser& user) {
                       user.press(QStringLiteral("Steps"));
                       return TaskTraces::stepTimes(traces.steps, 2);
                   }});
    all.push_back({"the memory at the peak by line", {traces.snapshot}, 1, {}, [](TaskUser& user) {
                       user.press(QStringLiteral("operator"));
                       return QStringList{QStringLiteral(".py:")};
                   }});
    all.push_back({"the slowest rank", {traces.straggler}, 1, {}, [](TaskUser& user) {
                       user.press(QStringLiteral("Findings"));
                       return QStringList{
                           QStringLiteral("Rank 2 is slower than the others")}; // see resources/demos/record.sh
                   }});
    all.push_back({"the stack of a call that synchronises", {traces.stacks}, 3, toTimeline, [](TaskUser& user) {
                       user.key(Qt::Key_F, Qt::ControlModifier);
                       user.type(QStringLiteral("EventSynchronize"));
                       user.key(Qt::Key_Return);
                       return QStringList{QStringLiteral("stack"), QStringLiteral("gpu_model_runner.py")};
                   }});
    all.push_back({"send what one sees", {traces.job}, 1, toTheLongestKernel, [](TaskUser& user) {
                       user.key(Qt::Key_L, Qt::ControlModifier | Qt::ShiftModifier);
                       return QStringList{QStringLiteral("On the clipboard: fourwalls ")};
                   }});
    all.push_back({"note it", {traces.job}, 3, toTheLongestKernel, [](TaskUser& user) {
                       user.key(Qt::Key_B, Qt::ControlModifier);
                       user.type(QStringLiteral("why so long"));
                       user.key(Qt::Key_Return);
                       return QStringList{QStringLiteral("why so long")};
                   }});
    return all;
}

} // namespace fourwalls::gui::test
