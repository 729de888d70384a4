# Simulates a campaign with known truth, for the collections demo and demo-lexical.
# Takes config/campaign.yaml; gives documents, topics, truth, judgments and runs under results/campaign.


rule simulate_campaign:
    output:
        topics=f"{CAMPAIGN}/topics.tsv",
        documents=f"{CAMPAIGN}/documents.tsv.gz",
        truth=f"{CAMPAIGN}/truth.qrels",
        judgments=f"{CAMPAIGN}/judgments-demo.qrels",
        judgments_lexical=f"{CAMPAIGN}/judgments-demo-lexical.qrels",
        runs=campaign_runs(),
        trace=f"{CAMPAIGN}/trace/simulate_campaign.json",
    log:
        f"{CAMPAIGN}/logs/simulate_campaign.log",
    benchmark:
        f"{CAMPAIGN}/benchmarks/simulate_campaign.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(500, 0),
        runtime=minutes,
    params:
        settings=campaign_settings(),
        code=code_of("simulate_campaign"),
    script:
        "../../scripts/simulate_campaign.py"
