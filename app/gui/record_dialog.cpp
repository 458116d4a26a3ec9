// SPDX-License-Identifier: GPL-3.0-or-later
// The Record dialog.
#include "app/gui/record_dialog.h"

#include "model/spec/run_spec.h"
#include "views/chrome/loss_plot.h"
#include "views/plot/theme.h"

#include <QClipboard>
#include <QComboBox>
#include <QDateTime>
#include <QDoubleValidator>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScreen>
#include <QSpinBox>
#include <QStandardPaths>
#include <QVBoxLayout>

namespace fourwalls::gui {

namespace {

void setInk(QLabel* label, const QColor& colour)
{
    QPalette palette = label->palette();
    palette.setColor(QPalette::WindowText, colour);
    label->setPalette(palette);
}

QSpinBox* numberBox(int from, int to, int value, QWidget* parent)
{
    auto* box = new QSpinBox(parent);
    box->setRange(from, to);
    box->setValue(value);
    box->setButtonSymbols(QAbstractSpinBox::NoButtons);
    return box;
}

} // namespace

RecordDialog::RecordDialog(QWidget* parent)
    : QDialog(parent)
    , m_what(new QComboBox(this))
    , m_model(new QComboBox(this))
    , m_optimizer(new QComboBox(this))
    , m_precision(new QComboBox(this))
    , m_command(new QLabel(this))
    , m_attach(new QLabel(this))
    , m_form(new QWidget(this))
    , m_plot(new views::LossPlot(this))
    , m_progress(new QProgressBar(this))
    , m_message(new QLabel(this))
    , m_start(new QPushButton(this))
    , m_cancel(new QPushButton(this))
    , m_copy(new QPushButton(this))
{
    setWindowTitle(tr("Record a training"));
    setMinimumWidth(620);
    buildForm();

    m_command->setFont(views::fontOf(views::TextRole::Mono));
    m_command->setWordWrap(true);
    m_command->setTextFormat(Qt::PlainText);
    m_command->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_command->setAccessibleName(tr("Command line"));
    setInk(m_command, views::currentTheme().secondaryText);
    m_copy->setText(tr("Copy as command"));
    m_copy->setAutoDefault(false);
    m_start->setText(tr("Record"));
    m_start->setProperty("primary", true);
    m_start->setDefault(true);
    m_cancel->setText(tr("Close"));
    m_cancel->setAutoDefault(false);
    m_progress->setTextVisible(false);
    m_progress->setAccessibleName(tr("Steps done"));
    m_message->setWordWrap(true);
    m_message->setTextFormat(Qt::PlainText);
    m_plot->setMinimumHeight(170);

    auto* buttons = new QHBoxLayout;
    buttons->addWidget(m_copy);
    buttons->addStretch(1);
    buttons->addWidget(m_cancel);
    buttons->addWidget(m_start);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(18, 18, 18, 18);
    layout->setSpacing(views::kGap);
    layout->addWidget(m_form);
    layout->addWidget(m_attach);
    layout->addWidget(m_plot, 1);
    layout->addWidget(m_progress);
    layout->addWidget(m_message);
    layout->addWidget(m_command);
    layout->addLayout(buttons);
    m_attach->setText(
        tr("A job that runs already cannot be attached to: what records is loaded when a program starts. To "
           "record a job later, write FOURWALLS_CAPTURE=signal before its command; kill -USR2 of its "
           "processes then begins and ends the recording."));
    m_attach->setObjectName(QStringLiteral("record.attach"));
    m_attach->setWordWrap(true);
    m_attach->setTextFormat(Qt::PlainText);
    m_attach->setTextInteractionFlags(Qt::TextSelectableByMouse);
    setInk(m_attach, views::currentTheme().secondaryText);
    m_plot->hide();
    m_progress->hide();
    m_message->hide();

    connect(m_start, &QPushButton::clicked, this, &RecordDialog::start);
    connect(m_cancel, &QPushButton::clicked, this, &RecordDialog::reject);
    connect(m_copy, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(m_command->text()); });
    connect(&m_job, &ChildJob::line, this, &RecordDialog::onLine);
    connect(&m_job, &ChildJob::failed, this, &RecordDialog::onFailed);
    connect(&m_job, &ChildJob::succeeded, this, [this] {
        setRunning(false);
        emit recorded(m_output->text());
        accept();
    });
    setRequest(RecordRequest{});
}

void RecordDialog::buildForm()
{
    m_what->addItem(tr("a training by the engine in Fourwalls"));
    m_what->addItem(tr("a program of my own (CUDA)"));
    m_what->setObjectName(QStringLiteral("record.what"));
    m_model->setEditable(true);
    m_model->setInsertPolicy(QComboBox::NoInsert);
    for (const std::string& name : modelPresetNames()) m_model->addItem(QString::fromStdString(name));
    m_steps = numberBox(1, 1'000'000, 20, m_form);
    m_batch = numberBox(1, 65'536, 8, m_form);
    m_sequence = numberBox(0, 1'048'576, 0, m_form);
    m_sequence->setSpecialValueText(tr("the model's own"));
    m_optimizer->addItem(QStringLiteral("AdamW"), QStringLiteral("adamw"));
    m_optimizer->addItem(tr("SGD with momentum"), QStringLiteral("sgd"));
    m_precision->addItem(QStringLiteral("f32"), QStringLiteral("f32"));
    m_precision->addItem(tr("bf16 mixed"), QStringLiteral("bf16"));
    m_learningRate = new QLineEdit(m_form);
    auto* positive = new QDoubleValidator(0, 1e3, 12, m_learningRate);
    positive->setLocale(QLocale::c());
    m_learningRate->setValidator(positive);
    m_plan = new QLineEdit(m_form);
    m_plan->setPlaceholderText(tr("one rank; for example dp=2 pp=2 microbatches=4"));
    m_clock = new QComboBox(m_form);
    m_clock->addItem(tr("wall clock: what happens here"), QStringLiteral("wall"));
    m_clock->addItem(tr("device clock: a device per rank"), QStringLiteral("device"));
    m_device = new QComboBox(m_form);
    m_device->addItem(tr("processor"), QStringLiteral("cpu"));
    m_device->addItem(QStringLiteral("CUDA"), QStringLiteral("cuda"));
    m_transport = new QComboBox(m_form);
    m_transport->addItem(tr("threads of one process"), QStringLiteral("local"));
    m_transport->addItem(tr("Gloo, a process each"), QStringLiteral("gloo"));
    m_transport->addItem(tr("NCCL between GPUs"), QStringLiteral("nccl"));
    m_program = new QLineEdit(m_form);
    m_program->setObjectName(QStringLiteral("record.program"));
    m_program->setPlaceholderText(QStringLiteral("torchrun --nproc_per_node 8 train.py"));
    m_programSteps = new QLineEdit(m_form);
    m_programSteps->setPlaceholderText(tr("all; or a few, such as 10-13"));
    m_folder = new QLineEdit(m_form);
    m_folder->setPlaceholderText(tr("where Fourwalls was started"));
    m_data = new QLineEdit(m_form);
    m_data->setPlaceholderText(tr("the text that comes with Fourwalls"));
    m_output = new QLineEdit(m_form);
    m_model->setAccessibleName(tr("Model"));
    m_steps->setAccessibleName(tr("Steps"));
    m_batch->setAccessibleName(tr("Batch"));
    m_learningRate->setAccessibleName(tr("Learning rate"));
    m_what->setAccessibleName(tr("What to record"));
    m_device->setAccessibleName(tr("Device"));
    m_transport->setAccessibleName(tr("Transport"));
    m_program->setAccessibleName(tr("Command"));
    m_programSteps->setAccessibleName(tr("Steps to record"));
    m_folder->setAccessibleName(tr("Folder"));
    arrangeForm();
    connectForm();
}

void RecordDialog::arrangeForm()
{
    const auto withBrowse = [this](QLineEdit* edit, const QString& name, auto choose) {
        auto* row = new QHBoxLayout;
        auto* browse = new QPushButton(tr("Choose…"), m_form);
        browse->setAutoDefault(false);
        browse->setAccessibleName(tr("Choose: %1").arg(name));
        row->setSpacing(8);
        row->addWidget(edit, 1);
        row->addWidget(browse);
        connect(browse, &QPushButton::clicked, this, choose);
        return row;
    };
    const auto pair = [](QWidget* first, const QString& label, QWidget* second) {
        auto* row = new QHBoxLayout;
        row->addWidget(first, 1);
        auto* text = new QLabel(label);
        text->setBuddy(second);
        text->setContentsMargins(0, 0, 4, 0);
        row->setSpacing(8);
        row->addSpacing(views::kGap);
        row->addWidget(text);
        row->addWidget(second, 1);
        return row;
    };
    auto* form = new QFormLayout(m_form);
    form->setContentsMargins(0, 0, 0, 0);
    form->setVerticalSpacing(8);
    form->setLabelAlignment(Qt::AlignRight | Qt::AlignVCenter);
    // A row that is a layout needs its label's buddy named, or the letter behind & would not be a shortcut.
    const auto addRow = [form, this](const QString& label, auto* field, QWidget* buddy) {
        auto* text = new QLabel(label, m_form);
        text->setBuddy(buddy);
        form->addRow(text, field);
    };
    m_rows = form;
    addRow(tr("&What"), m_what, m_what);
    addRow(tr("&Command"), m_program, m_program);
    addRow(tr("Steps to &record"), m_programSteps, m_programSteps);
    addRow(tr("&Folder"),
           withBrowse(m_folder, tr("Folder"),
                      [this] {
                          const QString folder = QFileDialog::getExistingDirectory(
                              this, tr("The folder that the program runs in"), m_folder->text());
                          if (!folder.isEmpty()) m_folder->setText(folder);
                      }),
           m_folder);
    addRow(tr("&Model"), m_model, m_model);
    addRow(tr("&Steps"), pair(m_steps, tr("&Batch"), m_batch), m_steps);
    addRow(tr("Se&quence length"), m_sequence, m_sequence);
    addRow(tr("&Optimizer"), pair(m_optimizer, tr("&Learning rate"), m_learningRate), m_optimizer);
    addRow(tr("&Precision"), m_precision, m_precision);
    addRow(tr("Pla&n"), m_plan, m_plan);
    addRow(tr("Cloc&k"), m_clock, m_clock);
    addRow(tr("De&vice"), pair(m_device, tr("&Transport"), m_transport), m_device);
    addRow(tr("&Data"),
           withBrowse(m_data, tr("Data"),
                      [this] {
                          const QString file =
                              QFileDialog::getOpenFileName(this, tr("A text to train on"), m_data->text());
                          if (!file.isEmpty()) m_data->setText(file);
                      }),
           m_data);
    addRow(tr("Save &as"),
           withBrowse(m_output, tr("Save as"),
                      [this] {
                          const QString file = QFileDialog::getSaveFileName(
                              this, tr("Save the recording as"), m_output->text(), tr("Traces (*.fourwalls)"));
                          if (file.isEmpty()) return;
                          m_output->setText(file);
                          m_outputTouched = true;
                      }),
           m_output);
}

void RecordDialog::connectForm()
{
    connect(m_output, &QLineEdit::textEdited, this, [this] { m_outputTouched = true; });
    connect(m_model, &QComboBox::currentTextChanged, this, [this](const QString& model) {
        if (!m_outputTouched) m_output->setText(proposedOutput(model));
        // Images have no sequence, and a batch of a few is plenty for a first look.
        const bool images = model.startsWith(QLatin1String("resnet"));
        m_sequence->setEnabled(!images);
    });
    connect(m_what, &QComboBox::currentIndexChanged, this, &RecordDialog::showRows);
    for (QLineEdit* edit : {m_learningRate, m_plan, m_data, m_output, m_program, m_programSteps, m_folder})
        connect(edit, &QLineEdit::textChanged, this, &RecordDialog::updateCommand);
    for (QSpinBox* box : {m_steps, m_batch, m_sequence})
        connect(box, &QSpinBox::valueChanged, this, &RecordDialog::updateCommand);
    for (QComboBox* box : {m_model, m_optimizer, m_precision, m_clock, m_device, m_transport})
        connect(box, &QComboBox::currentTextChanged, this, &RecordDialog::updateCommand);
}

QString RecordDialog::proposedOutput(const QString& model)
{
    QString folder = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
    if (folder.isEmpty() || !QFileInfo::exists(folder)) // a bare system has no documents folder
        folder = QStandardPaths::writableLocation(QStandardPaths::HomeLocation);
    QString stem = model.section(QLatin1Char('/'), -1);
    if (stem.endsWith(QLatin1String(".json"))) stem.chop(5);
    return QStringLiteral("%1/%2-%3.fourwalls")
        .arg(folder, stem, QDateTime::currentDateTime().toString(QStringLiteral("yyyyMMdd-HHmmss")));
}

RecordRequest RecordDialog::request() const
{
    RecordRequest r;
    r.model = m_model->currentText().trimmed();
    r.steps = m_steps->value();
    r.batch = m_batch->value();
    r.sequence = m_sequence->isEnabled() ? m_sequence->value() : 0;
    r.optimizer = m_optimizer->currentData().toString();
    r.learningRate = QLocale::c().toDouble(m_learningRate->text());
    r.precision = m_precision->currentData().toString();
    r.plan = m_plan->text().trimmed();
    r.clock = m_clock->currentData().toString();
    r.device = m_device->currentData().toString();
    r.transport = m_transport->currentData().toString();
    r.cluster = m_cluster;
    r.data = m_data->text().trimmed();
    r.output = m_output->text().trimmed();
    if (!isCommand()) return r;
    // Something is typed there, or nothing can start.
    r.command = m_program->text().trimmed().isEmpty() ? QStringLiteral(" ") : m_program->text().trimmed();
    r.commandSteps = m_programSteps->text().trimmed();
    r.commandFolder = m_folder->text().trimmed();
    return r;
}

void RecordDialog::setRequest(const RecordRequest& request)
{
    m_asked = request;
    m_outputTouched = !request.output.isEmpty();
    m_model->setCurrentText(request.model);
    m_steps->setValue(request.steps);
    m_batch->setValue(request.batch);
    m_sequence->setValue(request.sequence);
    m_optimizer->setCurrentIndex(std::max(0, m_optimizer->findData(request.optimizer)));
    m_learningRate->setText(QString::number(request.learningRate, 'g', 6));
    m_precision->setCurrentIndex(std::max(0, m_precision->findData(request.precision)));
    m_plan->setText(request.plan);
    m_clock->setCurrentIndex(std::max(0, m_clock->findData(request.clock)));
    m_device->setCurrentIndex(std::max(0, m_device->findData(request.device)));
    m_transport->setCurrentIndex(std::max(0, m_transport->findData(request.transport)));
    m_program->setText(request.command);
    m_programSteps->setText(request.commandSteps);
    m_folder->setText(request.commandFolder);
    m_what->setCurrentIndex(request.command.isEmpty() ? 0 : 1);
    m_cluster = request.cluster;
    m_data->setText(request.data);
    m_output->setText(request.output.isEmpty() ? proposedOutput(request.model) : request.output);
    showRows();
}

bool RecordDialog::isCommand() const
{
    return m_what->currentIndex() == 1;
}

void RecordDialog::showRows()
{
    // Row 0 says what is recorded, the next three are of a program, the last one is of both.
    constexpr int kOfProgram = 3;
    for (int row = 1; row + 1 < m_rows->rowCount(); ++row)
        m_rows->setRowVisible(row, (row <= kOfProgram) == isCommand());
    if (!m_outputTouched)
        m_output->setText(proposedOutput(isCommand() ? QStringLiteral("job") : m_model->currentText()));
    m_attach->setVisible(isCommand());
    updateCommand();
    m_form->updateGeometry();
    layout()->activate();
    resize(width(), sizeHint().height());
}

bool RecordDialog::isAsRequested() const
{
    RecordRequest asked = m_asked;
    const RecordRequest now = request();
    asked.steps = now.steps;
    asked.output = now.output;
    return asked.arguments() == now.arguments();
}

void RecordDialog::updateCommand()
{
    const RecordRequest r = request();
    QString line = shellCommand(QStringLiteral("fourwalls-cli"), r.arguments());
    if (!r.commandFolder.isEmpty())
        line.prepend(shellCommand(QStringLiteral("cd"), {r.commandFolder}) + QStringLiteral(" && "));
    const QString problem = r.problem();
    m_command->setText(problem.isEmpty() ? line : problem);
    m_start->setEnabled(!m_job.isRunning() && problem.isEmpty());
    m_copy->setEnabled(problem.isEmpty());
}

void RecordDialog::setRunning(bool running)
{
    m_form->setEnabled(!running);
    m_start->setEnabled(!running);
    m_cancel->setText(running ? tr("Cancel") : tr("Close"));
    if (running) {
        m_plot->setVisible(!isCommand()); // only the engine says its loss
        m_progress->show();
        m_message->show();
    }
}

/// It grows when a recording starts; its buttons stay on the screen.
void RecordDialog::resizeEvent(QResizeEvent* event)
{
    QDialog::resizeEvent(event);
    const QRect room = screen()->availableGeometry(), frame = frameGeometry();
    if (isVisible() && frame.bottom() > room.bottom())
        move(frame.left(), std::max(room.top(), room.bottom() + 1 - frame.height()));
}

void RecordDialog::start()
{
    if (m_job.isRunning()) return;
    m_stepsDone = 0;
    m_startedAt = QDateTime::currentDateTime();
    m_plot->clear(m_steps->value());
    m_progress->setRange(0, isCommand() ? 0 : m_steps->value());
    m_progress->setValue(0);
    setInk(m_message, views::currentTheme().secondaryText);
    m_message->setText(tr("Starting…"));
    m_job.start(request().arguments(), request().commandFolder);
    setRunning(true);
}

void RecordDialog::onLine(const QString& text)
{
    const RecordProgress progress = parseProgress(text);
    m_message->setText(progress.message);
    if (!progress.step) return;
    m_stepsDone = *progress.step;
    if (progress.steps && *progress.steps > 0) m_progress->setMaximum(*progress.steps);
    m_progress->setValue(m_stepsDone);
    if (progress.loss) m_plot->addPoint(std::max(0, *progress.step - 1), *progress.loss);
}

void RecordDialog::onFailed(const Error& error)
{
    setRunning(false);
    updateCommand();
    const bool wasRecorded = isCommand()
                                 ? QFileInfo(m_output->text()).lastModified() >= m_startedAt // not an older file
                                 : m_stepsDone > 0;
    if (error.code == ErrorCode::Cancelled && wasRecorded) {
        emit recorded(m_output->text());
        accept();
        return;
    }
    setInk(m_message,
           error.code == ErrorCode::Cancelled ? views::currentTheme().secondaryText : views::currentTheme().error);
    m_message->show();
    m_message->setText(QString::fromStdString(error.message()));
}

void RecordDialog::reject()
{
    if (m_job.isRunning()) {
        m_job.cancel();
        m_message->setText(tr("Finishing the file…"));
        return;
    }
    QDialog::reject();
}

} // namespace fourwalls::gui
