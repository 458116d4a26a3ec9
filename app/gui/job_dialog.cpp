// SPDX-License-Identifier: GPL-3.0-or-later
// Progress with cancel for a child job.
#include "app/gui/job_dialog.h"

#include "app/gui/record_request.h"

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::gui {

JobDialog::JobDialog(const QString& title, const QStringList& arguments, QWidget* parent, const QByteArray& input)
    : QDialog(parent)
    , m_message(new QLabel(tr("Starting…"), this))
    , m_progress(new QProgressBar(this))
    , m_cancel(new QPushButton(tr("Cancel"), this))
{
    setWindowTitle(title);
    setAttribute(Qt::WA_DeleteOnClose);
    setMinimumWidth(440);
    m_message->setTextFormat(Qt::PlainText);
    m_message->setWordWrap(true);
    m_progress->setRange(0, 0);
    m_progress->setTextVisible(false);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(18, 18, 18, 18);
    layout->addWidget(new QLabel(title, this));
    layout->addWidget(m_progress);
    layout->addWidget(m_message);
    layout->addWidget(m_cancel, 0, Qt::AlignRight);
    connect(m_cancel, &QPushButton::clicked, this, &JobDialog::reject);
    connect(&m_job, &ChildJob::line, this, [this](const QString& text) {
        const RecordProgress progress = parseProgress(text);
        m_message->setText(progress.share
                               ? tr("%1 %").arg(static_cast<int>(std::clamp(*progress.share, 0.0, 1.0) * 100))
                               : progress.message);
        if (progress.step && progress.steps && *progress.steps > 0) {
            m_progress->setRange(0, *progress.steps);
            m_progress->setValue(*progress.step);
        } else if (progress.share) {
            m_progress->setRange(0, 1000);
            m_progress->setValue(static_cast<int>(std::clamp(*progress.share, 0.0, 1.0) * 1000));
        }
    });
    connect(&m_job, &ChildJob::succeeded, this, &JobDialog::accept);
    connect(&m_job, &ChildJob::failed, this, [this](const Error& error) {
        if (error.code == ErrorCode::Cancelled) return QDialog::reject();
        m_progress->hide();
        m_message->setText(QString::fromStdString(error.message()));
        m_cancel->setText(tr("Close"));
        // As high as the error's lines.
        this->layout()->activate();
        resize(width(), std::max(this->layout()->heightForWidth(width()), this->layout()->sizeHint().height()));
    });
    m_job.start(arguments, {}, input);
}

void JobDialog::reject()
{
    if (m_job.isRunning()) {
        m_job.cancel();
        return;
    }
    QDialog::reject();
}

} // namespace fourwalls::gui
