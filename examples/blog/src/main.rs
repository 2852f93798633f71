//! `blog` serves; `blog manage …` looks after the database.
#![allow(missing_docs)] // the program is read, not linked

use anyhow::Context;
use odm::prelude::*;
use odm::references::FanOut;
use odm_blog::api::{App, router};
use odm_blog::config::Config;
use odm_blog::metrics::Metrics;
use odm_blog::model::models;
use std::process::ExitCode;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::prelude::*;

// ANCHOR: main
/// Requests that still run this long after a signal are broken off.
const GRACE: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

async fn run() -> anyhow::Result<ExitCode> {
    let config = Config::read(|name| std::env::var(name).ok())?;
    let fan_out = FanOut::new().in_transaction(config.fan_out);
    let odm = Odm::new(config.database().await?, models())?.with_fan_out(fan_out);
    if std::env::args().nth(1).as_deref() == Some("manage") {
        return Ok(odm::cli::run_from(odm, std::env::args().skip(1)).await);
    }
    serve(config, odm).await?;
    Ok(ExitCode::SUCCESS)
}
// ANCHOR_END: main

async fn serve(config: Config, odm: Odm) -> anyhow::Result<()> {
    let metrics = Metrics::default();
    let shown: Targets = config.log.parse().context("BLOG_LOG")?;
    let counted = Targets::new().with_target("odm", LevelFilter::DEBUG);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_span_events(FmtSpan::CLOSE);
    tracing_subscriber::registry()
        .with(lines.with_filter(shown))
        .with(metrics.clone().with_filter(counted))
        .init();

    if config.sync {
        let applied = odm.sync().await?;
        if !applied.backfills().is_empty() {
            let lacking = applied.backfills().join(", ");
            tracing::warn!(lacking, "run `blog manage backfill`");
        }
    } else {
        // The deployment has called `blog manage sync`. This changes nothing.
        odm.check_models().await?;
    }
    // Both go on in the background, and end before the process does.
    let worker = odm.worker(config.worker);
    let reconciler = if config.reconciler {
        Some(odm.reconciler().start().await?)
    } else {
        None
    };

    // ANCHOR: shutdown
    let listener = TcpListener::bind(config.addr).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let (stop, mut stopping) = watch::channel(false);
    let server = axum::serve(listener, router(App { odm: odm.clone(), metrics }))
        .with_graceful_shutdown(async move {
            stopped().await;
            stop.send_replace(true);
            tracing::info!("stopping: no new requests");
        });
    let too_long = async move {
        let _ = stopping.wait_for(|stopping| *stopping).await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        served = server => served?,
        () = too_long => tracing::warn!("requests were broken off"),
    }
    worker.stop().await;
    if let Some(reconciler) = reconciler {
        reconciler.stop().await?;
    }
    // Rolls back what was broken off.
    let _ = tokio::time::timeout(GRACE, odm.shutdown()).await;
    // ANCHOR_END: shutdown
    Ok(())
}

/// `Ctrl-C`, or SIGTERM, which a container gets.
async fn stopped() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
